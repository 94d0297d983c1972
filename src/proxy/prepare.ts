import type { IncomingMessage } from 'node:http';
import type { Allowed } from '../policy/compiled-policy.ts';
import { canonicalRequest } from './canonical-request.ts';
import type { CanonicalRequest, DoorContext } from './contract.ts';
import { decide, policyRequest } from './decide.ts';
import type { Exchange } from './exchange.ts';
import type { Identified, Identify } from './identify.ts';
import type { BufferedBody } from './request-body.ts';
import { readRequestBody } from './request-body.ts';
import type { RewriteDeps, Rewritten } from './rewrite.ts';
import { rewrite } from './rewrite.ts';
import type { Spending, SpendingDeps } from './spending.ts';
import { exhaustedVerdict, startSpending, unmetered } from './spending.ts';
import type { Verdict } from './verdict.ts';
import { deny, refuse } from './verdict.ts';

export type PrepareDeps = RewriteDeps & { readonly identify: Identify; readonly spending: SpendingDeps };

/** A request that may leave, paid for and rewritten. Who gets it must settle or release its spending. */
export type Prepared = {
  readonly identified: Identified;
  readonly canonical: CanonicalRequest;
  /** Undefined where the workspace only reports and no rule admits the request. */
  readonly allowed: Allowed | undefined;
  readonly spending: Spending;
  readonly rewritten: Rewritten;
  readonly detail: Readonly<Record<string, unknown>>;
};

export type Asked = {
  readonly request: IncomingMessage;
  readonly door: DoorContext;
  readonly exchange: Exchange;
  /** Tells an agent that waits for it that its body may come. */
  readonly askForBody: () => void;
};

/** One request from its headers to the moment it may leave (design 10): who asks, what is asked, whether, at what price, in which form. */
export async function prepare({ request, door, exchange, askForBody }: Asked, deps: PrepareDeps): Promise<Verdict | Prepared> {
  const identified = await deps.identify(door.door === 'tunnel' ? [...door.connectHeaders, ...request.rawHeaders] : request.rawHeaders, door.door === 'transparent' ? door.token : undefined);
  if ('decision' in identified) return identified;
  const { workspace, attribution } = identified;
  const canonical = canonicalRequest({ method: request.method ?? '', target: request.url ?? '', httpVersion: request.httpVersion, rawHeaders: request.rawHeaders }, door);
  if ('reason' in canonical) return deny('no_scheme', attribution);
  if ('refused' in canonical) return refuse(canonical.refused, canonical.status, {}, attribution);
  exchange.decidedOn({ method: canonical.method, destination: canonical.host, path: canonical.path });
  const { policy } = workspace;
  if (policy === undefined) return deny('no_policy', attribution);
  if (policy === 'broken') return deny('policy_error', attribution);
  if (workspace.gone.aborted) return deny('workspace_gone', attribution);

  const decided = await decide(policy, policyRequest(canonical, identified), identified, () => {
    if (canonical.expectContinue) askForBody();
    return readRequestBody(request, deps.bodyBytesMax);
  });
  const reporting = workspace.enforcement === 'report';
  if (decided.kind === 'denied' && (!reporting || decided.bodyLost === true)) return decided.verdict;
  if (workspace.gone.aborted) return deny('workspace_gone', attribution, undefined, 'request_body');

  const paid = await payFor(decided.kind === 'allowed' ? decided.allowed : undefined, identified, bodyBytesOf(canonical, decided.body), deps.spending);
  if ('verdict' in paid && !reporting) return paid.verdict;
  const wouldDeny = 'verdict' in paid ? paid.verdict : decided.kind === 'denied' ? decided.verdict : undefined;
  const { allowed, spending } = 'verdict' in paid ? { allowed: { ...paid.allowed, counters: [] }, spending: unmetered } : paid;
  try {
    const rewritten = await rewrite(request, canonical, allowed, decided.body, identified, deps);
    if (canonical.expectContinue && rewritten.sending.streams) askForBody();
    const detail = { ...(wouldDeny === undefined ? {} : { would_deny: wouldDenyOf(wouldDeny) }), ...(allowed === undefined ? {} : { rule: allowed.rule.id }) };
    return { identified, canonical, allowed, spending, rewritten, detail };
  } catch (error) {
    await spending.release();
    throw error;
  }
}

type Paid = { readonly allowed: Allowed | undefined; readonly spending: Spending } | { readonly allowed: Allowed; readonly verdict: Verdict };

async function payFor(allowed: Allowed | undefined, { workspace, taskId, attribution }: Identified, bodyBytes: number | undefined, deps: SpendingDeps): Promise<Paid> {
  if (allowed === undefined) return { allowed, spending: unmetered };
  const owner = { orgId: workspace.orgId, workspaceId: workspace.id, taskId: taskId === '' ? undefined : taskId };
  const spending = await startSpending(allowed.counters, owner, bodyBytes, deps);
  return 'limit' in spending ? { allowed, verdict: exhaustedVerdict(spending, attribution) } : { allowed, spending };
}

function bodyBytesOf({ body }: CanonicalRequest, buffered: BufferedBody | undefined): number | undefined {
  if (body === 'none') return 0;
  return buffered?.bytes.length ?? (body === 'chunked' ? undefined : body.length);
}

/** `detail.would_deny` of a workspace that only reports (enforcement `report`): the same that a deny row would say. */
function wouldDenyOf({ reason, detail }: Verdict): Readonly<Record<string, unknown>> {
  return { reason, ...detail };
}
