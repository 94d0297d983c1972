/** What a row says about where a request wanted to go (contract 2.1). Absent parts could not be read from the request. */
export type RequestTarget = { readonly destination?: string; readonly path?: string };

/** Row columns are bounded (src/events/schema.ts); a request target is bounded by the header limit only. */
const destinationCharactersMax = 1024;
const pathCharactersMax = 8192;

const absoluteForm = /^[a-z][a-z0-9+.-]*:\/\//i;

/**
 * `user:secret@Host.Example.:443` to `host.example`. Userinfo never reaches a row: it may be a credential. Wire text is cut by hand,
 * never given to `new URL`, which decodes, maps and drops characters (127。1 becomes 127.0.0.1) so that the row would name another host.
 */
function hostOf(authority: string): string | undefined {
  const hostPort = authority.slice(authority.lastIndexOf('@') + 1);
  const bracketEnd = hostPort.startsWith('[') ? hostPort.indexOf(']') : -1;
  const host = bracketEnd > 0 ? hostPort.slice(1, bracketEnd) : hostPort.replace(/:\d*$/, '');
  const plain = host.toLowerCase().replace(/\.$/, '').slice(0, destinationCharactersMax);
  return plain === '' ? undefined : plain;
}

function pathOf(text: string): string {
  const end = text.search(/[?#]/);
  const path = end === -1 ? text : text.slice(0, end);
  return (path === '' ? '/' : path).slice(0, pathCharactersMax);
}

function target(destination: string | undefined, path: string | undefined): RequestTarget {
  return { ...(destination === undefined ? {} : { destination }), ...(path === undefined ? {} : { path }) };
}

/**
 * Destination (host without port, lower case) and path (without query) of a request: authority form for CONNECT, else absolute form,
 * else origin form, whose destination is the Host header. The query and a fragment are left out of rows, as they may carry secrets.
 */
export function requestTarget(method: string, url: string, host: string | undefined): RequestTarget {
  if (method === 'CONNECT') return target(hostOf(url), undefined);
  const scheme = absoluteForm.exec(url)?.[0];
  if (scheme === undefined) return target(host === undefined ? undefined : hostOf(host), pathOf(url));
  const rest = url.slice(scheme.length);
  const authorityEnd = rest.search(/[/?#\\]/);
  if (authorityEnd === -1) return target(hostOf(rest), '/');
  return target(hostOf(rest.slice(0, authorityEnd)), pathOf(rest.slice(authorityEnd)));
}
