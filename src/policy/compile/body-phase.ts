import { readStrictJson } from '../../kernel/strict-json.ts';
import type { CelBindings } from '../cel/contract.ts';
import type { PolicyBody, RuleFailure } from '../compiled-policy.ts';
import type { AllowRule } from '../model.ts';
import { isJson } from './content-type.ts';
import type { Outcome } from './static-checks.ts';
import { passed } from './static-checks.ts';

/** A body that is read once for all candidates. `value` undefined: not JSON that everybody reads the same way. */
export type ReadBody = { readonly isJson: boolean; readonly json: { readonly value: unknown } | undefined };

export function readBody(body: PolicyBody): ReadBody {
  const read = body.text === undefined ? undefined : readStrictJson(body.text);
  return { isJson: body.text !== undefined && isJson(body.contentType), json: read?.ok === true ? { value: read.value } : undefined };
}

/** The checks of one rule against the body (contract 6.3, phase request_body): format, JSON, schema, match. */
export function bodyCheck(rule: AllowRule, body: ReadBody, bindings: (json: unknown) => CelBindings): { readonly outcome: Outcome; readonly failure?: Omit<RuleFailure, 'rule' | 'check'> } {
  if (rule.requestFormat !== '' && !body.isJson) return { outcome: { failed: 'request_format' } };
  if (body.json === undefined) return { outcome: { failed: 'request_json' } };
  if (rule.schema !== undefined) {
    const violations = rule.schema.validate(body.json.value);
    if (violations.length > 0) return { outcome: { failed: 'request_schema' }, failure: { violations } };
  }
  if (rule.match?.requiresBody === true) {
    const result = rule.match.program.evaluate(bindings(body.json.value));
    if (!result.ok) return { outcome: { failed: 'body_match_error', code: result.code } };
    if (!result.value) return { outcome: { failed: 'body_match' } };
  }
  return { outcome: passed };
}
