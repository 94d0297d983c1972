import { inspect } from 'node:util';
import fc from 'fast-check';
import t from 'tap';
import { apiKeyMatches, apiKeyPrefix, createApiKey, hashApiKey } from '../../src/identity/api-key.ts';
import { narrowedScopes, permissionSets, roleScopes, roles, scopes } from '../../src/identity/scopes.ts';

t.test('a new key matches its own hash and no other', async (t) => {
  const keys = Array.from({ length: 200 }, createApiKey);
  t.equal(new Set(keys.map((made) => made.key.reveal())).size, 200);
  for (const [index, made] of keys.entries()) {
    const text = made.key.reveal();
    t.match(text, /^ch_[0-9A-Za-z]{8}[0-9A-Za-z]{32}$/);
    t.equal(apiKeyPrefix(text), made.prefix);
    t.ok(apiKeyMatches(text, made.hash));
    t.notOk(apiKeyMatches(text, keys[(index + 1) % 200]?.hash));
    t.notOk(apiKeyMatches(text, undefined));
  }
});

t.test('a key does not show itself', async (t) => {
  const made = createApiKey();
  t.notMatch(`${made.key.toString()} ${JSON.stringify(made)} ${inspect(made)}`, made.key.reveal().slice(11));
});

t.test('no text but the key matches', async (t) => {
  const made = createApiKey();
  t.notOk(apiKeyMatches('no key has this hash', undefined));
  fc.assert(fc.property(fc.string(), (text) => apiKeyPrefix(text) === undefined && !apiKeyMatches(text, made.hash)));
  t.notOk(apiKeyMatches(made.key.reveal(), ''), 'an empty stored hash matches nothing');
  t.notOk(apiKeyMatches(made.key.reveal(), hashApiKey('other').slice(2)), 'nor one of a wrong length');
});

t.test('default scopes', async (t) => {
  t.same(roleScopes.operator, ['audit:read', 'workspace:read', 'workspace:write', 'members:read', 'auth:write', 'config:write', 'secrets:write']);
  t.same(roleScopes.member, ['audit:read:own', 'workspace:read:own', 'workspace:write:own', 'members:read', 'auth:write:own']);
  for (const role of roles) t.ok(roleScopes[role].includes('members:read'), 'contract 4.6: every role reads members');
  for (const scope of scopes) t.ok(roleScopes.owner.includes(scope) || scope.endsWith(':own'), 'owner holds everything');
  t.same(permissionSets.audit, ['audit:read']);
});

t.test('a scope claim only ever narrows', async (t) => {
  fc.assert(fc.property(fc.constantFrom(...roles), fc.subarray([...scopes, 'x', '']), (role, asked) => {
    const held = roleScopes[role];
    for (const scope of narrowedScopes(held, asked.join(' '))) {
      if (!asked.includes(scope)) return false;
      if (!held.includes(scope) && !held.some((wide) => `${wide}:own` === scope)) return false;
    }
    return true;
  }));
  t.same([...narrowedScopes(roleScopes.owner, 'audit:read:own')], ['audit:read:own']);
});
