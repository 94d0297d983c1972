import { planBudget } from '../../../budgets/plan.ts';
import type { Reservation } from '../../../budgets/contract.ts';
import type { Secret } from '../../../kernel/secret.ts';
import type { Allowed, CompiledPolicy, PolicyDenyReason, RuleCheck, RuleFailure } from '../../../policy/compiled-policy.ts';
import { ruleChecks } from '../../../policy/compiled-policy.ts';
import type { AllowRule } from '../../../policy/model.ts';
import type { OutgoingRequest } from '../../../transforms/contract.ts';
import type { DescribedRequest, ReadRequest } from './described-request.ts';
import { readDescribed } from './described-request.ts';
import type { Step } from './rewrite-steps.ts';
import { rewriteSteps } from './rewrite-steps.ts';
import { createStandIns } from './stand-ins.ts';
import type { StandIns } from './stand-ins.ts';

export type Evaluated = { readonly rule: AllowRule; readonly failed: RuleFailure | undefined };

/** What becomes of one request, and why. `evaluation` has every rule in the order they are tried. */
export type Judgement =
  /** Turned away before any rule was looked at. */
  | { readonly decision: 'refused'; readonly reason: 'no_match'; readonly refused: string }
  /** `check`: where the rule that got furthest stopped; undefined where there is no rule at all. */
  | { readonly decision: 'deny'; readonly reason: PolicyDenyReason; readonly check: RuleCheck | undefined; readonly request: ReadRequest; readonly evaluation: readonly Evaluated[] }
  | {
    readonly decision: 'allow';
    readonly rule: AllowRule;
    readonly request: ReadRequest;
    readonly evaluation: readonly Evaluated[];
    readonly steps: readonly Step[];
    readonly sent: OutgoingRequest;
    /** What is taken from each counter before the request leaves. */
    readonly reservations: readonly Reservation[];
    readonly standIns: StandIns;
  };

/** Decides as the proxy does, by the same policy code. Secrets without a value here are taken to exist. */
export async function judge(policy: CompiledPolicy, described: DescribedRequest, secrets: ReadonlyMap<string, Secret> = new Map()): Promise<Judgement> {
  const read = readDescribed(described);
  if ('refused' in read) return { decision: 'refused', reason: 'no_match', refused: read.refused };
  const admission = policy.admit(read.policy);
  const decided = admission.kind === 'body_needed' ? policy.decideBody(admission, read.policy, read.body) : admission;
  const evaluation = policy.explainAll(read.policy, read.body);
  if (decided.kind === 'denied') return { decision: 'deny', reason: decided.reason, check: furthest(evaluation), request: read, evaluation };
  return { decision: 'allow', rule: decided.rule, request: read, evaluation, ...(await leaving(policy, read, decided, secrets)) };
}

async function leaving(policy: CompiledPolicy, read: ReadRequest, allowed: Allowed, secrets: ReadonlyMap<string, Secret>) {
  const standIns = createStandIns(policy);
  const { reservations } = planBudget(allowed.counters, { bodyBytes: read.bodyBytes });
  return { standIns, reservations, ...(await rewriteSteps(read, allowed, secrets, standIns)) };
}

/** The check that a deny is about: that of the rule that got furthest. */
function furthest(evaluation: readonly Evaluated[]): RuleCheck | undefined {
  const ranks = evaluation.map(({ failed }) => (failed === undefined ? -1 : ruleChecks.indexOf(failed.check)));
  return ruleChecks[Math.max(-1, ...ranks)];
}
