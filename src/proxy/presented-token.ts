/**
 * The capability token a request shows (design 10): `Proxy-Authorization` as Bearer, or as Basic with the token for the password (which
 * is what `HTTPS_PROXY=http://agent:TOKEN@host:port` sends), or `x-capability-token`. `none`: nothing usable. `ambiguous`: two different
 * tokens, where a later hop could believe the other one.
 */
export type PresentedToken = { readonly kind: 'none' } | { readonly kind: 'ambiguous' } | { readonly kind: 'token'; readonly token: string };

const bearer = /^bearer +(\S+) *$/i;
const basic = /^basic +([A-Za-z0-9+/=_-]+) *$/i;

function fromAuthorization(value: string): string | undefined {
  const credentials = basic.exec(value)?.[1];
  if (credentials === undefined) return bearer.exec(value)?.[1];
  const text = Buffer.from(credentials, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon === -1 ? undefined : text.slice(colon + 1);
}

/** `headers` is the raw list of names and values in turn: the parsed map keeps only the first of two equal names. */
export function presentedToken(headers: readonly string[]): PresentedToken {
  const tokens = new Set<string>();
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at]?.toLowerCase();
    const value = headers[at + 1] ?? '';
    const token = name === 'proxy-authorization' ? fromAuthorization(value) : name === 'x-capability-token' ? value.trim() : undefined;
    if (token !== undefined && token !== '') tokens.add(token);
  }
  const [token, ...others] = tokens;
  if (token === undefined) return { kind: 'none' };
  return others.length > 0 ? { kind: 'ambiguous' } : { kind: 'token', token };
}
