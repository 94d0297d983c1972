import type { Answer } from '../answer.ts';
import type { Authority } from './authority.ts';

/** Host that the proxy itself answers for, over plain http: a client that does not trust the CA yet must be able to fetch it. */
export const wellKnownHost = 'customhouse.internal';
export const wellKnownCaPath = '/ca.pem';
export const wellKnownCaUrl = `http://${wellKnownHost}${wellKnownCaPath}`;

function answer(status: number, headers: readonly (readonly [string, string])[], body: string): Answer {
  return { status, headers: [...headers, ['content-length', String(Buffer.byteLength(body))], ['x-content-type-options', 'nosniff']], body };
}

function text(status: number, body: string, headers: readonly (readonly [string, string])[] = []): Answer {
  return answer(status, [['content-type', 'text/plain; charset=utf-8'], ['cache-control', 'no-store'], ...headers], body);
}

/**
 * What `http://customhouse.internal/…` answers: the CA's certificate at `/ca.pem`, else 404 or 405. Nothing of it is secret, so no token
 * is asked for. `path` is the raw path without the query. The caller leaves the body out for HEAD, as Node's response does by itself.
 */
export function wellKnownAnswer({ certificatePem, fingerprint }: Pick<Authority, 'certificatePem' | 'fingerprint'>, method: string, path: string): Answer {
  if (path !== wellKnownCaPath) return text(404, `Nothing here. The certificate of this proxy is at ${wellKnownCaUrl}\n`);
  if (method !== 'GET' && method !== 'HEAD') return text(405, 'Only GET and HEAD.\n', [['allow', 'GET, HEAD']]);
  return answer(200, [
    ['content-type', 'application/x-pem-file'],
    ['content-disposition', 'attachment; filename="customhouse-ca.pem"'],
    // A client must see a new CA at once.
    ['cache-control', 'no-cache'],
    ['etag', `"${fingerprint.replaceAll(':', '').toLowerCase()}"`],
  ], certificatePem);
}
