import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { AppError } from '../../src/kernel/errors.ts';
import { createApiKey } from '../../src/identity/api-key.ts';
import { createKeySet } from '../../src/identity/key-set.ts';
import { createIdentity } from '../../src/identity/resolve.ts';
import type { Credentials, Identity, IdentityStores } from '../../src/identity/resolve.ts';
import { generateSigningJwk, importSigningKey, publicKeySet } from '../../src/identity/signing-key.ts';
import { signCapabilityToken, signSessionToken } from '../../src/identity/tokens.ts';

const orgA = '0197a000-0000-7000-8000-00000000000a';
const orgB = '0197a000-0000-7000-8000-00000000000b';
const gone = '0197a000-0000-7000-8000-0000000000ff';
const jwk = await generateSigningJwk('EdDSA');
const key = await importSigningKey(jwk);
const [good, revoked, odd] = [createApiKey(), createApiKey(), createApiKey()];

const stores: IdentityStores = {
  apiKeyByPrefix: async (prefix) => [
    { id: 'k1', orgId: orgA, hash: good.hash, permissionSet: 'audit', revokedAt: null, prefix: good.prefix },
    { id: 'k2', orgId: orgA, hash: revoked.hash, permissionSet: 'full', revokedAt: new Date(), prefix: revoked.prefix },
    { id: 'k3', orgId: orgA, hash: odd.hash, permissionSet: 'everything', revokedAt: null, prefix: odd.prefix },
  ].find((row) => row.prefix === prefix),
  membershipsOf: async (userId) => ({
    two: [{ orgId: orgA, role: 'operator' }, { orgId: orgB, role: 'member' }],
    one: [{ orgId: orgB, role: 'operator' }],
    demoted: [{ orgId: orgA, role: 'member' }],
  } as Record<string, { orgId: string; role: string }[]>)[userId] ?? [],
  orgById: async (id) => ({ [orgA]: { id: orgA, name: 'a', state: 'active' }, [orgB]: { id: orgB, name: 'b', state: 'past_due' } } as Record<string, { id: string; name: string; state: string }>)[id],
};

function identityFor(dir: string): Identity {
  return createIdentity({ stores, sessionKeys: createKeySet({ url: pathToFileURL(join(dir, 'jwks.json')).href }) });
}

const bearer = (token: string): Credentials => ({ authorization: `Bearer ${token}` });
const session = (claims: Parameters<typeof signSessionToken>[0]): Promise<string> => signSessionToken(claims, key, { expiresInS: 60 });

t.test('who is resolved', async (t) => {
  const identity = identityFor(t.testdir({ 'jwks.json': JSON.stringify(publicKeySet([jwk])) }));
  t.match(await identity.resolve(bearer(good.key.reveal())), { kind: 'api_key', orgId: orgA, userId: 'system', role: undefined, orgState: 'active', credentialId: 'k1' });
  t.same([...(await identity.resolve({ apiKey: good.key.reveal() })).scopes], ['audit:read']);
  const owner = await identity.resolve(bearer(await session({ userId: 'new', orgId: orgA, role: 'owner' })));
  t.match(owner, { kind: 'session', orgId: orgA, userId: 'new', role: 'owner', credentialId: 'new' });
  t.ok(owner.scopes.has('audit:read') && owner.scopes.has('members:write'));
  const narrowed = await identity.resolve(bearer(await session({ userId: 'new', orgId: orgA, role: 'operator', scope: 'audit:read:own members:write nonsense' })));
  t.same([...narrowed.scopes], ['audit:read:own'], 'a claim narrows to the :own form and never widens');
  t.same([...(await identity.resolve(bearer(await session({ userId: 'new', orgId: orgA, role: 'owner', scope: '' })))).scopes], [], 'an empty claim holds nothing');
  t.match(await identity.resolve(bearer(await session({ userId: 'demoted', orgId: orgA, role: 'owner' }))), { role: 'member' }, 'the lesser of token and membership');
  t.match(await identity.resolve(bearer(await session({ userId: 'one' }))), { orgId: orgB, role: 'operator', orgState: 'past_due' }, 'the only membership');
  t.match(await identity.resolve({ ...bearer(await session({ userId: 'two', orgId: orgA, role: 'operator' })), orgId: orgB }), { orgId: orgB, role: 'member' }, 'X-Org-Id picks');
  t.match(await identity.resolve({ authorization: `bearer   ${good.key.reveal()} ` }), { credentialId: 'k1' }, 'the scheme has no case');
});

t.test('who is refused, and that the answer does not say why', async (t) => {
  const identity = identityFor(t.testdir({ 'jwks.json': JSON.stringify(publicKeySet([jwk])) }));
  const text = good.key.reveal();
  const cases: Record<string, [Credentials, string]> = {
    'no credential': [{}, 'unauthenticated'],
    'an empty header': [{ authorization: '' }, 'unauthenticated'],
    'another scheme': [{ authorization: `Basic ${text}` }, 'unauthenticated'],
    'two tokens': [{ authorization: `Bearer ${text} ${text}` }, 'unauthenticated'],
    'a truncated key': [bearer(text.slice(0, -1)), 'unauthenticated'],
    'a longer key': [bearer(`${text}0`), 'unauthenticated'],
    'the prefix alone': [bearer(good.prefix), 'unauthenticated'],
    'a wrong secret under a known prefix': [bearer(good.prefix + revoked.key.reveal().slice(11)), 'unauthenticated'],
    'an unknown key': [bearer(createApiKey().key.reveal()), 'unauthenticated'],
    'a key in other letters': [bearer(text.toUpperCase()), 'unauthenticated'],
    'a revoked key': [bearer(revoked.key.reveal()), 'unauthenticated'],
    'a key with an unknown permission set': [bearer(odd.key.reveal()), 'unauthenticated'],
    'an empty query key': [{ apiKey: '' }, 'unauthenticated'],
    'a session token as a query key': [{ apiKey: await session({ userId: 'one' }) }, 'unauthenticated'],
    'a capability token': [bearer(await signCapabilityToken({ orgId: orgA, workspaceId: 'w' }, key, { expiresInS: 60 })), 'unauthenticated'],
    'the reserved user': [bearer(await session({ userId: 'system', orgId: orgA, role: 'owner' })), 'unauthenticated'],
    'an unknown role': [bearer(await session({ userId: 'new', orgId: orgA, role: 'root' })), 'unauthenticated'],
    'an inherited property as role': [bearer(await session({ userId: 'new', orgId: orgA, role: 'constructor' })), 'unauthenticated'],
    'an org that is gone': [bearer(await session({ userId: 'new', orgId: gone, role: 'owner' })), 'unauthenticated'],
    'an org id that is no id': [bearer(await session({ userId: 'new', orgId: "' or 1=1", role: 'owner' })), 'unauthenticated'],
    'a key asking for another org': [{ ...bearer(text), orgId: orgB }, 'permission_denied'],
    'a session asking for a foreign org': [{ ...bearer(await session({ userId: 'one' })), orgId: orgA }, 'permission_denied'],
    'a stated role does not carry over to another org': [{ ...bearer(await session({ userId: 'new', orgId: orgA, role: 'owner' })), orgId: orgB }, 'permission_denied'],
    'no membership at all': [bearer(await session({ userId: 'nobody' })), 'permission_denied'],
    'several memberships and no choice': [bearer(await session({ userId: 'two' })), 'validation_error'],
  };
  const messages = new Set<string>();
  for (const [name, [credentials, code]] of Object.entries(cases)) {
    const error = await identity.resolve(credentials).then(() => undefined, (thrown: unknown) => thrown);
    t.ok(error instanceof AppError, name);
    t.equal((error as AppError).code, code, name);
    if (code === 'unauthenticated') messages.add(`${(error as AppError).message} ${JSON.stringify((error as AppError).details)}`);
  }
  t.equal(messages.size, 1, 'one message for every failed authentication');
});

t.test('keys that cannot be read', async (t) => {
  const identity = identityFor(t.testdir({}));
  await t.rejects(identity.resolve(bearer(await session({ userId: 'one' }))), { code: 'dependency_unavailable' });
  t.match(await identity.resolve(bearer(good.key.reveal())), { kind: 'api_key' }, 'API keys need no key set');
});
