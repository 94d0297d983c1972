import type { CelBindings } from '../cel/contract.ts';
import type { Admission, Allowed, BodyPending, CompiledPolicy, Denied, PolicyBody, PolicyRequest, RuleFailure } from '../compiled-policy.ts';
import { createHostIndex } from '../match/host-index.ts';
import type { AllowRule, Capability, Policy, Transform } from '../model.ts';
import { bodyCheck, readBody } from './body-phase.ts';
import { requestBindings } from './bindings.ts';
import type { Failed } from './reason.ts';
import { denyReason } from './reason.ts';
import type { AdmissionCheck } from './static-checks.ts';
import { admissionCheck, inspectsBody } from './static-checks.ts';
import { credentialsOf, secretKeysOf } from './references.ts';
import { tryOrder } from './try-order.ts';

type CompiledRule = { readonly rule: AllowRule; readonly check: AdmissionCheck; readonly inspects: boolean; readonly allowed: Omit<Allowed, 'failures'> };

/** A checked document to the form requests are decided by (design 9). Everything that depends on the document alone is done here. */
export function compilePolicy(document: Policy): CompiledPolicy {
  const compiled = new Map<AllowRule, CompiledRule>();
  for (const capability of document.capabilities) for (const rule of capability.allow) compiled.set(rule, compileRule(rule, capability));
  const rules = Object.freeze([...compiled.keys()].sort(tryOrder));
  const index = createHostIndex(rules);
  const empty: Denied = Object.freeze({ kind: 'denied', reason: 'policy_empty', failures: [] });
  const of = (rule: AllowRule): CompiledRule => {
    const found = compiled.get(rule);
    if (found === undefined) throw new Error('a rule of another policy');
    return found;
  };

  function admit(request: PolicyRequest): Admission {
    if (rules.length === 0) return empty;
    const bindings = requestBindings(request);
    const failures: Failed[] = [];
    const pending: AllowRule[] = [];
    for (const rule of index.candidates(request.host)) {
      const { check, inspects, allowed } = of(rule);
      const outcome = check(request, bindings);
      if (outcome.failed !== undefined) failures.push({ rule, check: outcome.failed, code: outcome.code });
      else if (inspects || pending.length > 0) pending.push(rule);
      // The first candidate that no body can take out wins without one.
      else return { ...allowed, failures: shown(failures) };
    }
    if (pending.length === 0) return { kind: 'denied', reason: denyReason(failures), failures: shown(failures) };
    return { kind: 'body_needed', candidates: pending, failures: shown(failures), earlier: failures };
  }

  function decideBody(admission: BodyPending, request: PolicyRequest, body: PolicyBody): Allowed | Denied {
    const read = readBody(body);
    const bindings = requestBindings(request);
    const failures: (Failed & RuleFailure)[] = [...admission.earlier];
    for (const rule of admission.candidates) {
      const { inspects, allowed } = of(rule);
      if (!inspects) return { ...allowed, failures: shown(failures) };
      const { outcome, failure } = bodyCheck(rule, read, (json) => withBody(bindings(), json));
      if (outcome.failed === undefined) return { ...allowed, failures: shown(failures) };
      failures.push({ rule, check: outcome.failed, code: outcome.code, ...failure });
    }
    return { kind: 'denied', reason: denyReason(failures), failures: shown(failures) };
  }

  function explainAll(request: PolicyRequest, body: PolicyBody | undefined): ReturnType<CompiledPolicy['explainAll']> {
    const bindings = requestBindings(request);
    const read = body === undefined ? undefined : readBody(body);
    return rules.map((rule) => {
      const { check, inspects } = of(rule);
      const outcome = check(request, bindings);
      if (outcome.failed !== undefined) return { rule, failed: { rule, check: outcome.failed } };
      if (!inspects || read === undefined) return { rule, failed: undefined };
      const seen = bodyCheck(rule, read, (json) => withBody(bindings(), json));
      return { rule, failed: seen.outcome.failed === undefined ? undefined : { rule, check: seen.outcome.failed, ...seen.failure } };
    });
  }

  return Object.freeze({
    document, rules, admit, decideBody, explainAll,
    admitsHost: (host: string) => index.candidates(host).length > 0,
    secretKeys: Object.freeze(secretKeysOf(document)),
    credentials: Object.freeze(credentialsOf(document)),
  });
}

function compileRule(rule: AllowRule, capability: Capability): CompiledRule {
  const transforms: readonly Transform[] = Object.freeze(capability.transforms.filter(({ appliesTo }) => appliesTo.length === 0 || (rule.name !== undefined && appliesTo.includes(rule.name))));
  const validations = [
    ...(rule.match !== undefined && !rule.match.requiresBody ? ['match' as const] : []),
    ...(rule.requestFormat === '' ? [] : ['request_format' as const]),
    ...(rule.schema === undefined ? [] : ['request_schema' as const]),
    ...(rule.match?.requiresBody === true ? ['body_match' as const] : []),
  ];
  const bodyNeeded = inspectsBody(rule) || transforms.some(({ requiresBody, variant }) => requiresBody || variant.kind === 'body');
  const allowed = Object.freeze({ kind: 'allowed' as const, rule, validations: Object.freeze(validations), transforms, counters: capability.counters, bodyNeeded });
  return { rule, check: admissionCheck(rule), inspects: inspectsBody(rule), allowed };
}

function withBody(bindings: CelBindings, body: unknown): CelBindings {
  return bindings.request === undefined ? bindings : { ...bindings, request: { ...bindings.request, body } };
}

/** Codes of failed expressions are for the reason only. */
function shown(failures: readonly (Failed & Partial<RuleFailure>)[]): readonly RuleFailure[] {
  return failures.map(({ rule, check, violations }) => ({ rule, check, ...(violations === undefined ? {} : { violations }) }));
}
