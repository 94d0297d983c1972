import { STATUS_CODES } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Verdict } from './verdict.ts';

/** An answer of the proxy's own, as status, header pairs and JSON body (error body of contract 2.6). */
export type Answer = { readonly status: number; readonly headers: readonly (readonly [string, string])[]; readonly body: string };

/** Time a client has to read an answer after which its connection is cut, in ms. */
const lingerMs = 1000;

const messages: Readonly<Record<string, string>> = {
  no_token: 'The proxy needs a capability token: Proxy-Authorization (Bearer, or Basic with the token as the password) or x-capability-token.',
  invalid_token: 'The capability token is not valid.',
  no_scheme: 'https goes through CONNECT: sent in clear to the proxy, the request would lose its encryption.',
  workspace_not_activated: 'The workspace of the token is not active.',
  workspace_gone: 'The workspace was deactivated.',
  no_policy: 'The workspace has no policy attached.',
  policy_empty: 'The policy of the workspace allows nothing.',
  policy_error: 'The policy of the workspace could not be evaluated.',
  policy_type_error: 'A condition of the policy gave a value of another type.',
  invalid_json: 'The body is not JSON that every reader reads the same way.',
  format_mismatch: 'The body is not in the format that the rule asks for.',
  schema_violation: 'The body breaks the schema of the rule.',
  budget_exhausted: 'A budget of the workspace or task is used up.',
  concurrency_exhausted: 'As many requests as the policy allows are running.',
  no_match: 'No allow rule matches the request.',
  internal_error: 'The proxy could not decide the request.',
};

/** An answer of the proxy for requests to itself. */
export function jsonAnswer(status: number, value: unknown, requestId: string): Answer {
  const body = JSON.stringify(value);
  return { status, headers: [['content-type', 'application/json; charset=utf-8'], ['content-length', String(Buffer.byteLength(body))], ['x-request-id', requestId], ['cache-control', 'no-store']], body };
}

function answer(status: number, code: string, message: string, requestId: string, details?: Readonly<Record<string, unknown>>, retryAfterMs?: number): Answer {
  const body = JSON.stringify({ error: { code, message, request_id: requestId, ...(details === undefined ? {} : { details }) } });
  return {
    status,
    headers: [
      ['content-type', 'application/json; charset=utf-8'],
      ['content-length', String(Buffer.byteLength(body))],
      ['x-request-id', requestId],
      ['cache-control', 'no-store'],
      ...(retryAfterMs === undefined ? [] : [['retry-after', String(Math.max(1, Math.ceil(retryAfterMs / 1000)))]] as const),
      // Basic is what clients send that take the proxy from HTTPS_PROXY; they wait for this header before they show their credentials.
      ...(status === 407 ? [['proxy-authenticate', 'Bearer realm="customhouse"'], ['proxy-authenticate', 'Basic realm="customhouse"']] as const : []),
    ],
    body,
  };
}

/** What a denied agent is told beyond the reason, so that it can mend its request. No values of the request, nothing of other rules. */
const toldDetails = ['refused', 'counter', 'scope'] as const;

/** Answer to a deny: `code` is the reason (design 10). */
export function denialAnswer({ reason, status, detail, retryAfterMs }: Verdict, requestId: string): Answer {
  const details = Object.fromEntries(toldDetails.flatMap((key) => (detail?.[key] === undefined ? [] : [[key, detail[key]]])));
  return answer(status, reason, messages[reason] ?? 'The request was denied.', requestId, Object.keys(details).length === 0 ? undefined : details, retryAfterMs);
}

/** Answer for an upstream that gave none. The request was allowed, so it is no deny; upstream's own texts are not repeated. */
export function failureAnswer(status: number, failure: string, requestId: string): Answer {
  return answer(status, 'upstream_failed', 'The upstream gave no answer that could be passed on.', requestId, { upstream: failure });
}

/** The row could not be written, so nothing was decided (design 1, promise 2). */
export function unrecordedAnswer(requestId: string): Answer {
  return answer(503, 'dependency_unavailable', 'The proxy cannot record requests at the moment, so it serves none.', requestId);
}

/** Sends through Node's response; `close` ends the connection after it. */
export function sendOnResponse(response: ServerResponse, { status, headers, body }: Answer, close: boolean): void {
  response.writeHead(status, [...headers.flat(), ...(close ? ['connection', 'close'] : [])]);
  response.end(body);
}

/**
 * Sends on a bare socket (CONNECT, Upgrade, input that could not be parsed), always closing it. Bytes the client still sends are read
 * and dropped for a moment: closing with unread input makes the system send a reset, which would take the answer from the client.
 */
export function sendOnSocket(socket: Duplex, { status, headers, body }: Answer): void {
  if (socket.destroyed) return;
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(timer));
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const head = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.resume();
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${head}connection: close\r\n\r\n${body}`);
}
