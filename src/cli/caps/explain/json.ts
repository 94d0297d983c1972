import type { Counter, Scope } from '../../../policy/model.ts';
import { chargeOf, statusTexts } from './charges.ts';
import type { Charge } from './charges.ts';
import { checkText } from './check-text.ts';
import type { ReadRequest } from './described-request.ts';
import type { Evaluated, Judgement } from './judge.ts';
import { changeOf } from './step-change.ts';
import type { Step } from './rewrite-steps.ts';
import type { StandIns } from './stand-ins.ts';

// Not in TypeScript's library yet (ECMAScript 2026). Counters are int64, which a double cannot hold.
const { rawJSON: rawJson } = JSON as unknown as { readonly rawJSON: (text: string) => object };

function exact(amount: bigint): object {
  return rawJson(amount.toString());
}

/**
 * `{decision, reason?, check?, refused?, capability?, rule?, evaluation, transforms, counters}`. The first rule of `evaluation` that passed is
 * the one that decided; those behind it were not asked.
 */
export function judgementJson(judgement: Judgement): object {
  switch (judgement.decision) {
    case 'refused': return { decision: 'deny', reason: judgement.reason, refused: judgement.refused, evaluation: [], transforms: [], counters: [] };
    case 'deny': {
      const { reason, check, request, evaluation } = judgement;
      return { decision: 'deny', reason, ...(check === undefined ? {} : { check }), evaluation: evaluation.map((one) => evaluatedJson(one, request)), transforms: [], counters: [] };
    }
    case 'allow': {
      const { rule, request, evaluation, steps, sent, reservations, standIns } = judgement;
      return {
        decision: 'allow',
        capability: rule.capability,
        rule: rule.id,
        evaluation: evaluation.map((one) => evaluatedJson(one, request)),
        transforms: steps.map((step) => stepJson(step, standIns)),
        counters: reservations.map((reservation) => chargeJson(chargeOf(reservation, sent, request.bodyBytes))),
      };
    }
  }
}

function evaluatedJson({ rule, failed }: Evaluated, { policy }: ReadRequest): object {
  const place = { capability: rule.capability, rule: rule.id, path: rule.path, ...(rule.position === undefined ? {} : { line: rule.position.line }) };
  if (failed === undefined) return { ...place, passed: true };
  const violations = failed.violations?.map(({ instancePath, keyword, message }) => ({ path: instancePath, keyword, message }));
  return { ...place, passed: false, check: failed.check, message: checkText(failed, policy), ...(violations === undefined ? {} : { violations }) };
}

/** `result` is `applied` or a value of contract 6.4. `before` and `after` are lists: a header may stand there several times, or not at all. */
function stepJson(step: Step, standIns: StandIns): object {
  const { transform, failed } = step;
  const { target, before, after } = changeOf(step, standIns);
  const { variant } = transform;
  return {
    name: transform.id,
    variant: variant.kind,
    ...(variant.kind === 'auth' ? { provider: variant.provider, credential: variant.credential } : { action: variant.action }),
    target,
    result: failed ?? 'applied',
    before,
    after: after ?? null,
  };
}

/** `at_admission` is what the request costs before it leaves; `on_response` what decides afterwards, null where nothing does. */
function chargeJson({ counter, effect, now, later }: Charge): object {
  return {
    capability: counter.capability,
    name: counter.name,
    source: counter.source,
    at_admission: { effect, amount: exact(now) },
    ...(later === '' ? {} : { later }),
    on_response: effect === 'charged' ? null : responseJson(counter),
    max_concurrent: counter.maxConcurrent,
    workspace: scopeJson(counter.workspace),
    task: scopeJson(counter.task),
  };
}

function responseJson({ statusCodes, value, accumulator, failureCharge }: Counter): object {
  return {
    status_codes: statusTexts(statusCodes),
    ...(value === undefined ? {} : { value: value.source }),
    ...(accumulator === undefined ? {} : { accumulator }),
    failure_charge: exact(failureCharge),
  };
}

function scopeJson(scope: Scope | undefined): object | null {
  return scope === undefined ? null : { max: exact(scope.max), ttl_ms: scope.ttlMs ?? null };
}
