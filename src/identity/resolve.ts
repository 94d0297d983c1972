import { AppError, validationError } from '../kernel/errors.ts';
import { isUuid } from '../kernel/ids.ts';
import { apiKeyMatches, apiKeyPrefix } from './api-key.ts';
import type { KeySet } from './key-set.ts';
import { KeySetUnavailableError } from './key-set.ts';
import type { Role, Scope } from './scopes.ts';
import { isPermissionSet, isRole, lesserRole, narrowedScopes, permissionSets, roleScopes } from './scopes.ts';
import { InvalidTokenError, verifySessionToken } from './tokens.ts';

/** Who calls, for which org, and what that caller may do. */
export type Caller = {
  readonly kind: 'session' | 'api_key';
  readonly orgId: string;
  readonly orgName: string;
  /** State of the org; anything but `active` or `trial` refuses mutations (contract 5.8). */
  readonly orgState: string;
  /** Real user id of a session; the literal `system` for an API key (contract 2.1). */
  readonly userId: string;
  readonly role: Role | undefined;
  readonly scopes: ReadonlySet<Scope>;
  /** Id of the API key, or the user id: what rate limits and logs go by. Not secret. */
  readonly credentialId: string;
};

export type Credentials = {
  readonly authorization?: string | undefined;
  /** The `api_key` query parameter; pass it on the SSE routes only (contract 5.2). */
  readonly apiKey?: string | undefined;
  /** The `X-Org-Id` header: picks among several memberships. */
  readonly orgId?: string | undefined;
};

export type IdentityStores = {
  readonly apiKeyByPrefix: (prefix: string) => Promise<{ readonly id: string; readonly orgId: string; readonly hash: string; readonly permissionSet: string; readonly revokedAt: Date | string | null | undefined } | undefined>;
  /** Active memberships only. */
  readonly membershipsOf: (userId: string) => Promise<readonly { readonly orgId: string; readonly role: string }[]>;
  readonly orgById: (id: string) => Promise<{ readonly id: string; readonly name: string; readonly state: string } | undefined>;
};

export type IdentityDeps = { readonly stores: IdentityStores; readonly sessionKeys: KeySet; readonly issuer?: string | undefined; readonly audience?: string | undefined };

export type Identity = { readonly resolve: (credentials: Credentials) => Promise<Caller> };

/** The `user_id` of API-key callers; a session token that claims it is refused. */
const keyUser = 'system';

/** One text for every failure: the caller must not learn whether a key exists, was revoked, or a signature was wrong. */
function unauthenticated(cause?: unknown): AppError {
  return new AppError('unauthenticated', 'missing or invalid credential', undefined, { cause });
}

function bearerToken(authorization: string): string {
  const match = /^bearer +([^\s]+) *$/i.exec(authorization);
  if (match?.[1] === undefined) throw unauthenticated('not a bearer credential');
  return match[1];
}

/**
 * Resolves the caller of a request. Errors: `unauthenticated` (401) for a missing or bad credential, `permission_denied` (403) for an
 * org that the caller is no member of, `validation_error` (400) when `X-Org-Id` is needed, `dependency_unavailable` (503) without keys.
 */
export function createIdentity({ stores, sessionKeys, issuer, audience }: IdentityDeps): Identity {
  async function byApiKey(key: string, askedOrg: string | undefined): Promise<Caller> {
    const prefix = apiKeyPrefix(key);
    const stored = prefix === undefined ? undefined : await stores.apiKeyByPrefix(prefix);
    const matches = apiKeyMatches(key, stored?.hash);
    if (!matches || stored === undefined || (stored.revokedAt ?? undefined) !== undefined) throw unauthenticated('api key');
    const org = await stores.orgById(stored.orgId);
    if (org === undefined || !isPermissionSet(stored.permissionSet)) throw unauthenticated('org or permission set of the api key');
    if (askedOrg !== undefined && askedOrg !== org.id) throw new AppError('permission_denied', 'the API key belongs to another org');
    return {
      kind: 'api_key', orgId: org.id, orgName: org.name, orgState: org.state, userId: keyUser, role: undefined,
      scopes: new Set(permissionSets[stored.permissionSet]), credentialId: stored.id,
    };
  }

  async function verified(token: string): ReturnType<typeof verifySessionToken> {
    try {
      return await verifySessionToken(token, { keys: sessionKeys, issuer, audience });
    } catch (error) {
      if (error instanceof InvalidTokenError) throw unauthenticated(error);
      if (error instanceof KeySetUnavailableError) throw new AppError('dependency_unavailable', 'session keys cannot be read', { dependency: 'session_jwks' }, { cause: error });
      throw error;
    }
  }

  async function bySession(token: string, askedOrg: string | undefined): Promise<Caller> {
    const claims = await verified(token);
    if (claims.userId === keyUser) throw unauthenticated('reserved user id');
    const orgOf = async (id: string | undefined) => (id !== undefined && isUuid(id) ? stores.orgById(id) : undefined);
    const named = askedOrg ?? claims.orgId;
    // Side by side: this is on the path of every request.
    const [memberships, namedOrg] = await Promise.all([stores.membershipsOf(claims.userId), orgOf(named)]);
    const only = memberships.length === 1 ? memberships[0]?.orgId : undefined;
    const orgId = named ?? only;
    if (orgId === undefined && memberships.length > 1) throw validationError({ 'X-Org-Id': 'required: the caller is a member of several orgs' });
    const stated = orgId !== undefined && orgId === claims.orgId ? claims.role : undefined;
    const stored = memberships.find((membership) => membership.orgId === orgId)?.role;
    const found = [stated, stored].filter((role) => role !== undefined);
    if (orgId === undefined || found.length === 0) throw new AppError('permission_denied', 'the caller is not a member of this org');
    if (!found.every(isRole)) throw unauthenticated('unknown role');
    // Both are known: the lesser counts, so that a demotion works at once although the old token is still valid.
    const role = found.reduce(lesserRole);
    const org = namedOrg ?? await orgOf(orgId);
    if (org === undefined) throw unauthenticated('unknown org');
    const scopes = claims.scope === undefined ? new Set(roleScopes[role]) : narrowedScopes(roleScopes[role], claims.scope);
    return { kind: 'session', orgId: org.id, orgName: org.name, orgState: org.state, userId: claims.userId, role, scopes, credentialId: claims.userId };
  }

  async function resolve({ authorization, apiKey, orgId }: Credentials): Promise<Caller> {
    if (authorization === undefined && apiKey === undefined) throw unauthenticated('no credential');
    if (authorization === undefined) return byApiKey(apiKey ?? '', orgId);
    const token = bearerToken(authorization);
    return token.startsWith('ch_') ? byApiKey(token, orgId) : bySession(token, orgId);
  }
  return { resolve };
}
