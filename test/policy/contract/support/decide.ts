import type { CompiledPolicy, PolicyRequest } from '../../../../src/policy/compiled-policy.ts';

/** The id of the rule that admits a request written as in area.ts, or the reason why none does. */
export function decide(policy: CompiledPolicy, written: string): string {
  const [line = '', contentType, body] = written.split(' | ');
  const request = requestOf(line, contentType, body);
  const admission = policy.admit(request);
  const decision = admission.kind === 'body_needed' ? policy.decideBody(admission, request, { contentType, text: body ?? '' }) : admission;
  return decision.kind === 'allowed' ? decision.rule.id : decision.reason;
}

function requestOf(line: string, contentType: string | undefined, body: string | undefined): PolicyRequest {
  const found = /^([A-Z]+) (https?):\/\/(\[[^\]]+\]|[^:/?]+)(?::([0-9]+))?([^?]*)(?:\?(.*))?$/.exec(line);
  if (found === null) throw new Error(`not a request: ${line}`);
  const [, method = '', scheme, host = '', port, path = '', rawQuery = ''] = found;
  const https = scheme === 'https';
  return {
    method,
    scheme: https ? 'https' : 'http',
    host: host.replace(/^\[|\]$/g, ''),
    port: port === undefined ? (https ? 443 : 80) : Number(port),
    path: path === '' ? '/' : path,
    rawQuery,
    headers: new Map(contentType === undefined ? [] : [['content-type', contentType]]),
    hasBody: body !== undefined && body !== '',
    workspace: { id: 'w-1', orgId: 'o-1', role: 'buyer', environment: 'staging' },
    task: { id: 't-1' },
  };
}
