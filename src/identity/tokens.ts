import { SignJWT, errors, jwtVerify } from 'jose';
import type { JWTPayload } from 'jose';
import type { KeySet } from './key-set.ts';
import type { SigningKey } from './signing-key.ts';

/** What a session token says (design 8). `orgId` and `role` come together or not at all. */
export type SessionClaims = { readonly userId: string; readonly orgId: string | undefined; readonly role: string | undefined; readonly scope: string | undefined };

/** What a capability token says: which workspace, and perhaps which task, an agent's call belongs to. `userId` is the workspace's creator, to whom its rows are attributed. */
export type CapabilityClaims = { readonly orgId: string; readonly workspaceId: string; readonly taskId: string | undefined; readonly userId?: string };

/** The token is not acceptable. The text is for our log only; callers must not learn which check failed. */
export class InvalidTokenError extends Error {
  constructor(why: string, options?: { cause?: unknown }) {
    super(why, options);
    this.name = 'InvalidTokenError';
  }
}

const capabilityAudience = 'proxy';
const tokenCharactersMax = 8192;
/** Clocks of two machines may differ by this much. */
const clockToleranceS = 30;

type Rules = { readonly algorithms: string[]; readonly issuer?: string | undefined; readonly audience?: string | undefined };

async function verify(token: string, keys: KeySet, rules: Rules): Promise<JWTPayload> {
  if (token.length > tokenCharactersMax) throw new InvalidTokenError('longer than 8192 characters');
  try {
    const { payload } = await jwtVerify(token, keys, {
      algorithms: rules.algorithms,
      clockTolerance: clockToleranceS,
      requiredClaims: ['exp'],
      ...(rules.issuer === undefined ? {} : { issuer: rules.issuer }),
      ...(rules.audience === undefined ? {} : { audience: rules.audience }),
    });
    return payload;
  } catch (cause) {
    if (cause instanceof errors.JOSEError) throw new InvalidTokenError(cause.code, { cause });
    throw cause;
  }
}

function textClaim(payload: JWTPayload, name: string): string | undefined {
  const value = payload[name];
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw new InvalidTokenError(`claim ${name} is not a string`);
  return value;
}

function requiredClaim(payload: JWTPayload, name: string): string {
  const value = textClaim(payload, name);
  if (value === undefined || value === '' || value.length > 512) throw new InvalidTokenError(`claim ${name} is missing or has a wrong length`);
  // Such a text cannot be stored in Postgres: it would be a fault of ours at the first look-up.
  if (/\p{Cc}/u.test(value) || !value.isWellFormed()) throw new InvalidTokenError(`claim ${name} holds control characters`);
  return value;
}

/**
 * Verifies a session token (EdDSA or ES256). A token for the proxy is refused whatever its keys: a capability token in an agent's hands
 * must never open the API. Throws InvalidTokenError, or KeySetUnavailableError when the keys cannot be read.
 */
export async function verifySessionToken(token: string, deps: { keys: KeySet; issuer?: string | undefined; audience?: string | undefined }): Promise<SessionClaims> {
  const payload = await verify(token, deps.keys, { algorithms: ['EdDSA', 'ES256'], issuer: deps.issuer, audience: deps.audience });
  if ([payload.aud].flat().includes(capabilityAudience)) throw new InvalidTokenError('a capability token is not a session token');
  const claims = { userId: requiredClaim(payload, 'sub'), orgId: textClaim(payload, 'org_id'), role: textClaim(payload, 'role'), scope: textClaim(payload, 'scope') };
  if ((claims.orgId === undefined) !== (claims.role === undefined)) throw new InvalidTokenError('org_id and role come together');
  return claims;
}

/** Verifies a capability token (EdDSA, `aud: proxy`). Errors as verifySessionToken. */
export async function verifyCapabilityToken(token: string, deps: { keys: KeySet }): Promise<CapabilityClaims> {
  const payload = await verify(token, deps.keys, { algorithms: ['EdDSA'], audience: capabilityAudience });
  const userId = textClaim(payload, 'user');
  return { orgId: requiredClaim(payload, 'org_id'), workspaceId: requiredClaim(payload, 'workspace_id'), taskId: textClaim(payload, 'task_id'), ...(userId === undefined ? {} : { userId }) };
}

type Lifetime = { readonly expiresInS: number; readonly issuer?: string | undefined; readonly audience?: string | undefined };

function signed(claims: JWTPayload, key: SigningKey, lifetime: Lifetime): Promise<string> {
  const nowS = Math.floor(Date.now() / 1000);
  const jwt = new SignJWT(claims).setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'JWT' }).setIssuedAt(nowS).setExpirationTime(nowS + lifetime.expiresInS);
  if (lifetime.issuer !== undefined) jwt.setIssuer(lifetime.issuer);
  if (lifetime.audience !== undefined) jwt.setAudience(lifetime.audience);
  return jwt.sign(key.privateKey);
}

/** A session token as an identity provider would issue it; used by the command line and by development stacks. */
export function signSessionToken(claims: { userId: string; orgId?: string; role?: string; scope?: string }, key: SigningKey, lifetime: Lifetime): Promise<string> {
  const { userId, orgId, role, scope } = claims;
  return signed(
    { sub: userId, ...(orgId === undefined ? {} : { org_id: orgId }), ...(role === undefined ? {} : { role }), ...(scope === undefined ? {} : { scope }) },
    key,
    lifetime,
  );
}

/** A capability token for one workspace (design 8). Throws RangeError when the key is not an EdDSA key. */
export function signCapabilityToken(claims: { orgId: string; workspaceId: string; taskId?: string; userId?: string }, key: SigningKey, lifetime: { readonly expiresInS: number }): Promise<string> {
  if (key.alg !== 'EdDSA') throw new RangeError('capability tokens are signed with EdDSA');
  const { orgId, workspaceId, taskId, userId } = claims;
  return signed({ org_id: orgId, workspace_id: workspaceId, ...(taskId === undefined ? {} : { task_id: taskId }), ...(userId === undefined ? {} : { user: userId }) }, key, { ...lifetime, audience: capabilityAudience });
}
