import type { CelBindings } from '../cel/contract.ts';
import type { PolicyRequest, RuleCheck } from '../compiled-policy.ts';
import { hostMatches, portMatches } from '../match/host-pattern.ts';
import type { PathGlob } from '../match/path-glob.ts';
import { compileGlob } from '../match/path-glob.ts';
import type { AllowRule } from '../model.ts';
import { formatAgrees } from './content-type.ts';

/** What a match told: passed, or the check that failed. An error of the expression is told apart from false, as it denies for another reason. */
export type Outcome = { readonly failed: undefined } | { readonly failed: RuleCheck; readonly code?: 'eval_error' | 'type_mismatch' | 'budget' };

export const passed: Outcome = Object.freeze({ failed: undefined });

/** The checks of one rule that need no body (contract 2.7, AllowRule), in the order of `ruleChecks`. */
export type AdmissionCheck = (request: PolicyRequest, bindings: () => CelBindings) => Outcome;

export function admissionCheck(rule: AllowRule): AdmissionCheck {
  const methods: ReadonlySet<string> = new Set(rule.methods);
  const globs: readonly PathGlob[] = rule.paths.map(compileGlob);
  const inspects = inspectsBody(rule);
  return (request, bindings) => {
    const hosts = rule.domains.filter((pattern) => hostMatches(pattern, request.host));
    if (hosts.length === 0) return { failed: 'domain' };
    if (!hosts.some((pattern) => portMatches(pattern, request.scheme, request.port))) return { failed: 'port' };
    if (request.scheme !== 'https' && !rule.allowInsecure) return { failed: 'scheme' };
    if (!methods.has(request.method)) return { failed: 'method' };
    if (globs.length > 0 && !globs.some((glob) => glob.matches(request.path))) return { failed: 'path' };
    if (rule.match !== undefined && !rule.match.requiresBody) {
      const result = rule.match.program.evaluate(bindings());
      if (!result.ok) return { failed: 'match_error', code: result.code };
      if (!result.value) return { failed: 'match' };
    }
    if (inspects && (request.method === 'GET' || request.method === 'HEAD')) return { failed: 'body_unavailable' };
    if (!inspects && rule.requestFormat !== '' && request.hasBody && !formatAgrees(request.headers)) return { failed: 'request_format' };
    return passed;
  };
}

/** Whether admitting a request by this rule takes its body. */
export function inspectsBody(rule: AllowRule): boolean {
  return rule.schema !== undefined || rule.match?.requiresBody === true;
}
