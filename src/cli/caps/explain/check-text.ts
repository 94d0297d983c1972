import type { PolicyRequest, RuleFailure } from '../../../policy/compiled-policy.ts';
import type { AllowRule } from '../../../policy/model.ts';

/** Why a rule does not admit the request, as a sentence. Of the body it says places, never values. */
export function checkText({ rule, check, violations = [] }: RuleFailure, request: PolicyRequest): string {
  switch (check) {
    case 'domain': return `${request.host} is not ${oneOf(rule.domains.map(({ text }) => text))}`;
    case 'port': return `port ${request.port} is not that of ${oneOf(rule.domains.map(({ text }) => text))} (an entry without a port stands for 443, or 80 over http)`;
    case 'scheme': return 'plain http, and the rule has no allow_insecure: true';
    case 'method': return `${request.method} is not ${oneOf(rule.methods)}`;
    case 'path': return `${request.path} does not match ${rule.paths.length > 1 ? 'any of ' : ''}${listed(rule.paths)}`;
    case 'match': return `match is false: ${sourceOf(rule)}`;
    case 'match_error':
    case 'body_match_error': return `match cannot be evaluated for this request: ${sourceOf(rule)}`;
    case 'body_unavailable': return `the rule looks into the body, and a ${request.method} has none`;
    case 'request_format': return formatText(request);
    case 'request_json': return 'the body is not JSON that everybody reads the same way';
    case 'request_schema': return `the body does not fit request_schema: ${violations.map(({ instancePath, message }) => `${instancePath === '' ? '' : `${instancePath} `}${message}`).join('; ')}`;
    case 'body_match': return `match is false for this body: ${sourceOf(rule)}`;
  }
}

const listedMax = 8;

function listed(texts: readonly string[]): string {
  return texts.length > listedMax ? `${texts.slice(0, listedMax).join(', ')} and ${texts.length - listedMax} more` : texts.join(', ');
}

function oneOf(texts: readonly string[]): string {
  return texts.length === 1 ? (texts[0] ?? '') : `one of ${listed(texts)}`;
}

function sourceOf({ match }: AllowRule): string {
  return (match?.program.source ?? '').replace(/\s+/g, ' ').trim();
}

function formatText({ headers, hasBody }: PolicyRequest): string {
  const coding = headers.get('content-encoding');
  if (coding !== undefined && coding.trim().toLowerCase() !== 'identity') return `the body is sent with content-encoding ${coding}, and the rule has to read it`;
  const type = headers.get('content-type');
  if (type === undefined) return `there is no content-type${hasBody ? '' : ' and no body'}, the rule wants application/json`;
  return `content-type is ${type}, the rule wants application/json in UTF-8`;
}
