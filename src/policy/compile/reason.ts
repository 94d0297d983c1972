import type { PolicyDenyReason, RuleCheck } from '../compiled-policy.ts';
import { ruleChecks } from '../compiled-policy.ts';
import type { AllowRule } from '../model.ts';

export type Failed = { readonly rule: AllowRule; readonly check: RuleCheck; readonly code?: 'eval_error' | 'type_mismatch' | 'budget' | undefined };

const rank: ReadonlyMap<RuleCheck, number> = new Map(ruleChecks.map((check, index) => [check, index]));

/** The reason of a deny (contract 6.3): that of the rule that got furthest, the first of those in order. */
export function denyReason(failures: readonly Failed[]): PolicyDenyReason {
  let furthest: Failed | undefined;
  for (const failure of failures) if (furthest === undefined || rankOf(failure) > rankOf(furthest)) furthest = failure;
  return furthest === undefined ? 'no_match' : reasonOf(furthest);
}

function rankOf(failure: Failed): number {
  return rank.get(failure.check) ?? -1;
}

function reasonOf({ rule, check, code }: Failed): PolicyDenyReason {
  switch (check) {
    case 'match_error':
    case 'body_match_error': return code === 'type_mismatch' ? 'policy_type_error' : 'policy_error';
    case 'request_format': return 'format_mismatch';
    case 'request_json': return rule.schema === undefined ? 'format_mismatch' : 'invalid_json';
    case 'request_schema': return 'schema_violation';
    case 'domain':
    case 'port':
    case 'scheme':
    case 'method':
    case 'path':
    case 'match':
    case 'body_unavailable':
    case 'body_match': return 'no_match';
  }
}
