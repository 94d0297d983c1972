import type { IncomingMessage } from 'node:http';
import { agentEventTypes } from '../events/enumerations.ts';
import { uuidv7 } from '../kernel/ids.ts';
import { readStrictJson } from '../kernel/strict-json.ts';
import type { Answer } from './answer.ts';
import { jsonAnswer } from './answer.ts';
import type { DoorContext } from './contract.ts';
import type { Identify } from './identify.ts';
import type { Recorder } from './recorder.ts';
import { readRequestBody } from './request-body.ts';
import type { Work } from './serve.ts';
import { nothingSpent } from './spending.ts';
import type { Authority } from './tls/authority.ts';
import { wellKnownAnswer, wellKnownCaPath, wellKnownHost } from './tls/well-known.ts';
import type { Attribution, Passed, Verdict } from './verdict.ts';
import { deny, platformAttribution, refuse } from './verdict.ts';

/** Contract 6.6: each event costs one unit on this counter. */
const agentEventsCounter = 'requests';
const eventBytesMax = 262_144;

export type OwnDeps = { readonly identify: Identify; readonly record: Recorder; readonly authority: Pick<Authority, 'certificatePem' | 'fingerprint'> };

/** Requests to the proxy itself: its certificate, and agent events (contract 6.6). Undefined for all others. */
export function createOwnRequests({ identify, record, authority }: OwnDeps): (request: IncomingMessage, door: DoorContext) => Work | undefined {
  return (request, door) => {
    const path = door.door === 'plain' ? ownPath(request.url ?? '') : undefined;
    if (path === undefined) return undefined;
    const task = /^\/task\/([A-Za-z0-9._~-]{1,512})\/event$/.exec(path)?.[1];
    if (task === undefined) return () => served(platformAttribution, 'well_known', wellKnownAnswer(authority, request.method ?? '', path));
    if (request.method !== 'POST') return () => refuse('method', 405);
    return (exchange) => agentEvent(request, task, exchange.id, { identify, record });
  };
}

/** Paths of `http://customhouse.internal/…`, and of origin form for the two things that are served. */
function ownPath(target: string): string | undefined {
  const own = `http://${wellKnownHost}/`;
  if (target.toLowerCase().startsWith(own)) return target.slice(own.length - 1).replace(/\?.*$/s, '');
  return target === wellKnownCaPath || target.startsWith('/task/') ? target : undefined;
}

function served(attribution: Attribution, what: string, answer: Answer, extra: Partial<Passed> = {}): { readonly kind: 'own'; readonly outcome: Passed; readonly answer: Answer } {
  const nothing = { applied: 0, failed: new Map(), authUsed: [], authFailures: new Map() };
  return { kind: 'own', answer, outcome: { decision: 'allow', attribution, phase: 'request_headers', validationsApplied: 0, changed: nothing, spent: nothingSpent, detail: { served: what }, ...extra } };
}

/** Two rows, each for what it is: the agent's event, and the decision to take it. The event's row is written first. */
async function agentEvent(request: IncomingMessage, task: string, requestId: string, { identify, record }: Pick<OwnDeps, 'identify' | 'record'>): Promise<Verdict | ReturnType<typeof served>> {
  const identified = await identify(request.rawHeaders);
  if ('decision' in identified) return identified;
  const { workspace, taskId } = identified;
  const attribution: Attribution = { ...identified.attribution, taskId: task };
  if (taskId !== '' && taskId !== task) return refuse('other_task', 403, {}, identified.attribution);
  if (request.headers.expect !== undefined) return refuse('expectation', 417, {}, attribution);
  const body = await readRequestBody(request, eventBytesMax);
  if (body.kind === 'aborted') return refuse('incomplete_request', 400, {}, attribution, 'request_body');
  if (body.kind === 'too_large') return { ...deny('format_mismatch', attribution, { refused: 'body_too_large', allowrule_eval: [] }, 'request_body'), status: 413 };
  const read = body.text === undefined ? undefined : readStrictJson(body.text);
  if (read?.ok !== true || typeof read.value !== 'object' || read.value === null || Array.isArray(read.value)) return { ...deny('invalid_json', attribution, undefined, 'request_body'), status: 400 };
  const detail = read.value as Record<string, unknown>;
  const type = agentEventTypes.find((known) => known === detail['type']);
  if (type === undefined) return { ...deny('schema_violation', attribution, { refused: 'event_type', allowrule_eval: [] }, 'request_body'), status: 400 };
  const violations = workspace.eventSchemas.get(type)?.validate(detail) ?? [];
  if (violations.length > 0) {
    const shown = violations.slice(0, 5).map(({ instancePath, keyword }) => ({ path: instancePath, keyword }));
    return { ...deny('schema_violation', attribution, { refused: 'event_schema', allowrule_eval: [], violations: shown }, 'request_body'), status: 400 };
  }
  const id = uuidv7();
  await record.row({
    id, event_type: type, org_id: attribution.orgId, user_id: attribution.userId, workspace_id: workspace.id, task_id: task,
    agent_role: workspace.agentRole, agent_provider: workspace.agentProvider, detail,
  });
  return served(attribution, 'agent_event', jsonAnswer(202, { id }, requestId), { phase: 'request_body', detail: { served: 'agent_event', event_id: id }, spent: { ...nothingSpent, debits: { [agentEventsCounter]: 1 } } });
}
