import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SignJWT } from 'jose';
import t from 'tap';
import { createKeySet, KeySetUnavailableError } from '../../src/identity/key-set.ts';
import { generateSigningJwk, importSigningKey, publicKeySet } from '../../src/identity/signing-key.ts';
import { InvalidTokenError, signCapabilityToken, signSessionToken, verifyCapabilityToken, verifySessionToken } from '../../src/identity/tokens.ts';

const orgId = '0197a000-0000-7000-8000-000000000001';
const edJwk = await generateSigningJwk('EdDSA');
const esJwk = await generateSigningJwk('ES256');
const strangerJwk = await generateSigningJwk('EdDSA');
const [ed, es, stranger] = await Promise.all([importSigningKey(edJwk), importSigningKey(esJwk), importSigningKey(strangerJwk)]);
const nowS = Math.floor(Date.now() / 1000);

async function fileKeys(dir: string, keys = [edJwk, esJwk], coolDownMs = 0): Promise<{ path: string; keys: ReturnType<typeof createKeySet> }> {
  const path = join(dir, 'jwks.json');
  await writeFile(path, JSON.stringify(publicKeySet(keys)));
  return { path, keys: createKeySet({ url: pathToFileURL(path).href, coolDownMs }) };
}

t.test('a session token signed with either algorithm gives back its claims', async (t) => {
  const { keys } = await fileKeys(t.testdir());
  for (const key of [ed, es]) {
    const token = await signSessionToken({ userId: 'user_1', orgId, role: 'owner', scope: 'audit:read' }, key, { expiresInS: 60 });
    t.same(await verifySessionToken(token, { keys }), { userId: 'user_1', orgId, role: 'owner', scope: 'audit:read' });
  }
});

t.test('a key set never carries the private part', async (t) => {
  t.notMatch(JSON.stringify(publicKeySet([edJwk, esJwk])), /"d":/);
});

t.test('tokens that must be refused', async (t) => {
  const { keys } = await fileKeys(t.testdir());
  const claims = { sub: 'user_1', org_id: orgId, role: 'owner' };
  const header = { alg: ed.alg, kid: ed.kid };
  const base = (): SignJWT => new SignJWT(claims).setProtectedHeader(header).setExpirationTime(nowS + 60);
  const good = await base().sign(ed.privateKey);
  const [head = '', body = '', signature = ''] = good.split('.');
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const publicText = new TextEncoder().encode(JSON.stringify(publicKeySet([edJwk]).keys[0]));
  const cases: Record<string, string> = {
    'an empty token': '',
    'no dots': 'abc',
    'alg none, no signature': `${encode({ alg: 'none' })}.${body}.`,
    'alg none with the real kid': `${encode({ alg: 'none', kid: ed.kid })}.${body}.`,
    'HMAC with the public key as the secret': await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: ed.kid }).setExpirationTime(nowS + 60).sign(publicText),
    'another key under the known kid': await new SignJWT(claims).setProtectedHeader(header).setExpirationTime(nowS + 60).sign(stranger.privateKey),
    'an unknown kid': await new SignJWT(claims).setProtectedHeader({ alg: 'EdDSA', kid: stranger.kid }).setExpirationTime(nowS + 60).sign(stranger.privateKey),
    'alg and key of different kinds': `${encode({ alg: 'ES256', kid: ed.kid })}.${body}.${signature}`,
    'expired': await new SignJWT(claims).setProtectedHeader(header).setExpirationTime(nowS - 120).sign(ed.privateKey),
    'not valid yet': await base().setNotBefore(nowS + 600).sign(ed.privateKey),
    'without exp': await new SignJWT(claims).setProtectedHeader(header).sign(ed.privateKey),
    'without sub': await new SignJWT({ org_id: orgId, role: 'owner' }).setProtectedHeader(header).setExpirationTime(nowS + 60).sign(ed.privateKey),
    'sub of a wrong type': await new SignJWT({ ...claims, org_id: 7 }).setProtectedHeader(header).setExpirationTime(nowS + 60).sign(ed.privateKey),
    'a NUL in sub': await new SignJWT({ ...claims, sub: 'user\0' }).setProtectedHeader(header).setExpirationTime(nowS + 60).sign(ed.privateKey),
    'org without role': await new SignJWT({ sub: 'user_1', org_id: orgId }).setProtectedHeader(header).setExpirationTime(nowS + 60).sign(ed.privateKey),
    'a changed body': `${head}.${encode({ ...claims, role: 'member', exp: nowS + 60 })}.${signature}`,
    'a cut signature': good.slice(0, -4),
    'a critical header we do not know': await new SignJWT(claims).setProtectedHeader({ ...header, crit: ['x'], x: 1 }).setExpirationTime(nowS + 60).sign(ed.privateKey, { crit: { x: true } }),
    'a capability token': await signCapabilityToken({ orgId, workspaceId: 'w1' }, ed, { expiresInS: 60 }),
    'longer than the bound': `${good}${'A'.repeat(9000)}`,
  };
  t.ok(await verifySessionToken(good, { keys }), 'the token they are made from is sound');
  for (const [name, token] of Object.entries(cases)) {
    await t.rejects(verifySessionToken(token, { keys }), InvalidTokenError, name);
  }
});

t.test('clocks may differ by half a minute', async (t) => {
  const { keys } = await fileKeys(t.testdir());
  const token = await signSessionToken({ userId: 'user_1' }, ed, { expiresInS: -10 });
  t.match(await verifySessionToken(token, { keys }), { userId: 'user_1' });
});

t.test('issuer and audience are checked when they are set', async (t) => {
  const { keys } = await fileKeys(t.testdir());
  const token = await signSessionToken({ userId: 'user_1' }, ed, { expiresInS: 60, issuer: 'https://id.example', audience: 'customhouse' });
  t.ok(await verifySessionToken(token, { keys, issuer: 'https://id.example', audience: 'customhouse' }));
  await t.rejects(verifySessionToken(token, { keys, issuer: 'https://other.example' }), InvalidTokenError);
  await t.rejects(verifySessionToken(token, { keys, audience: 'other' }), InvalidTokenError);
});

t.test('a capability token is for the proxy, by EdDSA alone', async (t) => {
  const { keys } = await fileKeys(t.testdir());
  const token = await signCapabilityToken({ orgId, workspaceId: 'w1', taskId: 't1' }, ed, { expiresInS: 60 });
  t.same(await verifyCapabilityToken(token, { keys }), { orgId, workspaceId: 'w1', taskId: 't1' });
  await t.rejects(verifyCapabilityToken(await signSessionToken({ userId: 'u', orgId, role: 'owner' }, ed, { expiresInS: 60 }), { keys }), InvalidTokenError, 'a session token');
  t.throws(() => signCapabilityToken({ orgId, workspaceId: 'w1' }, es, { expiresInS: 60 }), RangeError);
  const byEs = await new SignJWT({ org_id: orgId, workspace_id: 'w1' }).setProtectedHeader({ alg: 'ES256', kid: es.kid }).setAudience('proxy').setExpirationTime(nowS + 60).sign(es.privateKey);
  await t.rejects(verifyCapabilityToken(byEs, { keys }), InvalidTokenError, 'ES256');
});

t.test('a rotated key is found by its kid, and an unknown kid reads the set only once per cool-down', async (t) => {
  let reads = 0;
  let keys = [edJwk];
  const server = createServer((_request, response) => {
    reads += 1;
    response.end(JSON.stringify(publicKeySet(keys)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`;
  const patient = createKeySet({ url, coolDownMs: 60_000 });
  const eager = createKeySet({ url, coolDownMs: 0 });
  const old = await signSessionToken({ userId: 'old' }, ed, { expiresInS: 60 });
  const fresh = await signSessionToken({ userId: 'fresh' }, stranger, { expiresInS: 60 });
  await Promise.all(Array.from({ length: 20 }, () => verifySessionToken(old, { keys: patient })));
  t.equal(reads, 1, 'parallel first uses read once');
  for (let i = 0; i < 5; i += 1) await t.rejects(verifySessionToken(fresh, { keys: patient }), InvalidTokenError);
  t.equal(reads, 1, 'unknown kids within the cool-down read nothing');
  await verifySessionToken(old, { keys: eager });
  keys = [strangerJwk];
  t.match(await verifySessionToken(fresh, { keys: eager }), { userId: 'fresh' });
  await t.rejects(verifySessionToken(old, { keys: eager }), InvalidTokenError, 'the withdrawn key');
});

t.test('an unreadable key set is our fault, not the caller\'s', async (t) => {
  const dir = t.testdir({ 'broken.json': '{"keys": 7}' });
  const token = await signSessionToken({ userId: 'u' }, ed, { expiresInS: 60 });
  for (const url of [pathToFileURL(join(dir, 'absent.json')).href, pathToFileURL(join(dir, 'broken.json')).href, 'http://127.0.0.1:1/jwks.json']) {
    await t.rejects(verifySessionToken(token, { keys: createKeySet({ url }) }), KeySetUnavailableError, url.slice(0, 5));
  }
});

t.test('known keys outlive a short outage of their source', async (t) => {
  const { path } = await fileKeys(t.testdir());
  const keys = createKeySet({ url: pathToFileURL(path).href, coolDownMs: 0, cacheMs: 60_000 });
  const token = await signSessionToken({ userId: 'u' }, ed, { expiresInS: 60 });
  await verifySessionToken(token, { keys });
  await writeFile(path, 'not json');
  await t.rejects(verifySessionToken(await signSessionToken({ userId: 'u' }, stranger, { expiresInS: 60 }), { keys }), InvalidTokenError);
  t.match(await verifySessionToken(token, { keys }), { userId: 'u' });
});
