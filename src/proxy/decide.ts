import type { Phase } from '../events/enumerations.ts';
import type { Allowed, CompiledPolicy, Denied, PolicyRequest, RuleFailure } from '../policy/compiled-policy.ts';
import type { CanonicalRequest } from './contract.ts';
import type { Identified } from './identify.ts';
import type { BodyRead, BufferedBody } from './request-body.ts';
import type { Verdict } from './verdict.ts';
import { deny, refuse } from './verdict.ts';

/** Rules listed in a row, and violations of one of them: a policy may have thousands. */
const failuresMax = 50;
const violationsMax = 5;

export type Decided =
  /** `body` is there when it was read; `bodyLost` when it cannot be had any more, so that nothing could be passed on. */
  | { readonly kind: 'denied'; readonly verdict: Verdict; readonly body?: BufferedBody; readonly bodyLost?: boolean }
  | { readonly kind: 'allowed'; readonly allowed: Allowed; readonly body: BufferedBody | undefined };

/** The request as the policy sees it; decision, row and bytes come from the same object (design 1, promise 3). */
export function policyRequest(request: CanonicalRequest, { workspace, taskId }: Identified): PolicyRequest {
  const { method, scheme, host, port, path, rawQuery, headerMap, body } = request;
  return {
    method, scheme, host, port, path, rawQuery, headers: headerMap, hasBody: body !== 'none',
    workspace: { id: workspace.id, orgId: workspace.orgId, role: workspace.agentRole, environment: workspace.environment },
    task: { id: taskId },
  };
}

/** Decides by the workspace's rules; the body is read only when a rule or a transform has to see it (contract 6.3). */
export async function decide(policy: CompiledPolicy, request: PolicyRequest, { attribution }: Identified, readBody: () => Promise<BodyRead>): Promise<Decided> {
  const admission = policy.admit(request);
  if (admission.kind === 'denied') return { kind: 'denied', verdict: denied(admission, attribution, 'request_headers') };
  if (admission.kind === 'allowed' && (!admission.bodyNeeded || !request.hasBody)) return { kind: 'allowed', allowed: admission, body: undefined };

  const body: BodyRead = request.hasBody ? await readBody() : { kind: 'buffered', bytes: Buffer.alloc(0), text: '' };
  if (body.kind === 'aborted') return { kind: 'denied', bodyLost: true, verdict: refuse('incomplete_request', 400, {}, attribution, 'request_body') };
  if (body.kind === 'too_large') {
    const detail = { refused: 'body_too_large', allowrule_eval: shown(admission.failures) };
    return { kind: 'denied', bodyLost: true, verdict: { ...deny('format_mismatch', attribution, detail, 'request_body'), status: 413 } };
  }
  if (admission.kind === 'allowed') return { kind: 'allowed', allowed: admission, body };
  const decided = policy.decideBody(admission, request, { contentType: request.headers.get('content-type'), text: body.text });
  if (decided.kind === 'denied') return { kind: 'denied', verdict: denied(decided, attribution, 'request_body'), body };
  return { kind: 'allowed', allowed: decided, body };
}

function denied({ reason, failures }: Denied, attribution: Verdict['attribution'], phase: Phase): Verdict {
  return deny(reason, attribution, { allowrule_eval: shown(failures) }, phase);
}

/** `detail.allowrule_eval`: each candidate and the check it failed. Violations name places and keywords, never values of the body. */
function shown(failures: readonly RuleFailure[]): readonly object[] {
  return failures.slice(0, failuresMax).map(({ rule, check, violations }) => ({
    capability: rule.capability,
    rule: rule.id,
    failed: check,
    ...(violations === undefined ? {} : { violations: violations.slice(0, violationsMax).map(({ instancePath, keyword }) => ({ path: instancePath, keyword })) }),
  }));
}
