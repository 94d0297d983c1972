import type { VerifyCapability } from './identify.ts';

const entriesMax = 5_000;

/**
 * Remembers for a moment that a token was good, so that each request of a busy agent does not pay for a signature. An expired or revoked
 * token is so believed for at most `ttlMs` longer. Only good tokens are kept: bad ones could be as many as an attacker likes.
 */
export function rememberVerified(verify: VerifyCapability, ttlMs = 5_000, now: () => number = () => performance.now()): VerifyCapability {
  const known = new Map<string, { readonly verified: ReturnType<VerifyCapability>; readonly untilMs: number }>();
  return async (token) => {
    const entry = known.get(token);
    if (entry !== undefined && entry.untilMs > now()) return entry.verified;
    known.delete(token);
    const claims = await verify(token);
    if (claims === undefined) return undefined;
    const [oldest] = known.keys();
    if (known.size >= entriesMax && oldest !== undefined) known.delete(oldest);
    known.set(token, { verified: Promise.resolve(claims), untilMs: now() + ttlMs });
    return claims;
  };
}
