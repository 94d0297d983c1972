import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { createLocalJWKSet } from 'jose';
import t from 'tap';
import type { AuditEvent } from '../../src/events/event.ts';
import { generateSigningJwk, importSigningKey, publicKeySet } from '../../src/identity/signing-key.ts';
import { signCapabilityToken, verifyCapabilityToken } from '../../src/identity/tokens.ts';
import { createSyntheticAddresses, syntheticDefaults } from '../../src/proxy/dns/synthetic-addresses.ts';
import type { VerifyCapability } from '../../src/proxy/identify.ts';
import { orgId, startHarness, workspaceId } from './proxy-harness.ts';
import type { Harness, HarnessOptions } from './proxy-harness.ts';

const caps = '- name: demo\n  type: http\n  allow:\n    - {name: api, domains: [api.example.com], methods: [GET], paths: ["/v1/**"]}\n';
const jwk = await generateSigningJwk('EdDSA');
const key = await importSigningKey(jwk);
const keys = createLocalJWKSet(publicKeySet([jwk]));
const token = await signCapabilityToken({ orgId, workspaceId, taskId: 't1' }, key, { expiresInS: 600 });
const verify: VerifyCapability = (text) => verifyCapabilityToken(text, { keys: (header, input) => keys(header, input) }).catch(() => undefined);

type Rig = Harness & { readonly tlsPort: number; readonly sent: { host: string; port: number; scheme: string; headers: readonly (readonly [string, string])[] }[] };

/** A proxy with transparent TLS whose client at 127.0.0.1 is the workspace, unless `sources` says otherwise. Every upstream refuses to be reached. */
async function startRig(t: Parameters<typeof startHarness>[0], { sources = `127.0.0.1=${token}`, ...options }: HarnessOptions & { readonly sources?: string } = {}): Promise<Rig> {
  const sent: Rig['sent'] = [];
  const harness = await startHarness(t, {
    caps, verify,
    send: async ({ host, port, scheme, headers }) => {
      sent.push({ host, port, scheme, headers });
      return { failure: 'connect_failed', sent: false };
    },
    ...options,
    settings: { proxyTransparentPort: 0, proxySources: sources, ...options.settings },
  });
  const tlsPort = harness.proxy.transparentPort;
  if (tlsPort === undefined) throw new Error('transparent TLS is off');
  return { ...harness, tlsPort, sent };
}

function shake(rig: Rig, options: ConnectionOptions & { readonly localAddress?: string } = {}): TLSSocket {
  const secure = tlsConnect({ port: rig.tlsPort, host: '127.0.0.1', ca: rig.ca, servername: 'api.example.com', ...options });
  secure.on('error', () => undefined);
  return secure;
}

/** Everything that is answered to `text` until the connection ends. */
async function say(secure: TLSSocket, text: string): Promise<string> {
  let received = '';
  secure.on('data', (chunk: Buffer) => { received += chunk.toString('latin1'); });
  const closed = new Promise((resolve) => secure.once('close', resolve));
  secure.write(text);
  await closed;
  return received;
}

const get = (path: string, { host = 'api.example.com', header = '' } = {}): string => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${header}Connection: close\r\n\r\n`;

/** Waits for the door to have let its connections go, which is after their rows. */
async function rowsOf(rig: Rig): Promise<AuditEvent[]> {
  for (;;) {
    const metrics = await rig.proxy.metrics.registry.getSingleMetric('customhouse_proxy_transparent_connections')?.get();
    if (metrics?.values[0]?.value === 0) return rig.rows();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A row of what passed comes at its end: by path, which is the order of the requests. */
const byPath = (rows: readonly AuditEvent[]): AuditEvent[] => rows.toSorted((a, b) => (a.path ?? '').localeCompare(b.path ?? ''));
const shown = (rows: readonly AuditEvent[]): unknown[] => rows.map(({ destination, path, decision, reason, detail }) => [destination, path, decision, reason, (detail as { refused?: string } | undefined)?.refused]);

t.test('a client that knows of no proxy: certificate of the name it asks for, requests decided one by one, by the token of its address', async (t) => {
  const rig = await startRig(t);
  const secure = shake(rig, { ALPNProtocols: ['h2', 'http/1.1'] });
  await once(secure, 'secureConnect');
  t.equal(secure.authorized, true);
  t.equal(secure.alpnProtocol, 'http/1.1');
  t.match(secure.getPeerCertificate().subjectaltname, /^DNS:api\.example\.com$/);
  const answers = await say(secure, 'GET /v1/a HTTP/1.1\r\nHost: api.example.com\r\n\r\nGET /v0/b HTTP/1.1\r\nHost: api.example.com\r\n\r\nGET /v1/c HTTP/1.1\r\nHost: other.example\r\n\r\n');
  t.strictSame(answers.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 502', 'HTTP/1.1 403', 'HTTP/1.1 421']);
  t.match(rig.sent, [{ host: 'api.example.com', port: 443, scheme: 'https' }]);
  t.equal(rig.sent.length, 1);
  const rows = byPath(await rowsOf(rig));
  t.strictSame(shown(rows), [
    ['api.example.com', '/v0/b', 'deny', 'no_match', undefined],
    ['api.example.com', '/v1/a', 'allow', undefined, undefined],
    ['api.example.com', '/v1/c', 'deny', 'no_match', 'host_mismatch'],
  ]);
  for (const row of rows) t.match(row, { org_id: orgId, workspace_id: workspaceId, task_id: 't1', agent_role: 'crawler' });
});

t.test('a token that a request shows counts before that of its address, also a bad one, and is not passed on', async (t) => {
  const rig = await startRig(t);
  const other = await signCapabilityToken({ orgId, workspaceId, taskId: 't2' }, key, { expiresInS: 600 });
  t.match(await say(shake(rig), get('/v1/a', { header: `X-Capability-Token: ${other}\r\n` })), /^HTTP\/1\.1 502 /);
  t.match(await say(shake(rig), get('/v1/a', { header: 'X-Capability-Token: nonsense\r\n' })), /^HTTP\/1\.1 403 .*"invalid_token"/s);
  t.strictSame((await rowsOf(rig)).map(({ task_id: task, reason }) => [task, reason]), [['t2', undefined], [undefined, 'invalid_token']]);
  t.notMatch(JSON.stringify(rig.sent), /capability-token|proxy-authorization/i);
});

t.test('a client nobody is known for: needs a token, and leaves rows of its requests only', async (t) => {
  const rig = await startRig(t, { sources: `10.9.8.7=${token}` });
  t.match(await say(shake(rig), get('/v1/a')), /^HTTP\/1\.1 407 .*"no_token"/s);
  t.match(await say(shake(rig), get('/v1/b', { header: `Proxy-Authorization: Bearer ${token}\r\n` })), /^HTTP\/1\.1 502 /);
  const silent = shake(rig);
  await once(silent, 'secureConnect');
  silent.destroy();
  connect(rig.tlsPort, '127.0.0.1').end('GET / HTTP/1.1\r\n\r\n').resume();
  t.strictSame((await rowsOf(rig)).map(({ path, reason }) => [path, reason]), [['/v1/a', 'no_token'], ['/v1/b', undefined]]);
});

t.test('names that are no host get no certificate', async (t) => {
  const rig = await startRig(t);
  const names = ['a..example', 'ex ample', 'a/b', '127.1', `${'a'.repeat(64)}.example`, 'exämple.com'];
  for (const servername of names) {
    const secure = shake(rig, { servername, checkServerIdentity: () => undefined });
    t.equal(await Promise.race([once(secure, 'secureConnect').then(() => 'shaken', () => 'refused'), once(secure, 'close').then(() => 'refused')]), 'refused', servername);
    secure.destroy();
    await rowsOf(rig);
  }
  t.strictSame(shown(await rowsOf(rig)).map((row) => (row as unknown[])[4]), ['sni_empty_label', 'sni_bad_character', 'sni_bad_character', 'sni_bad_ipv4', 'sni_label_too_long', 'sni_not_ascii']);
  t.equal(rig.sent.length, 0);
});

t.test('resumed sessions: the name is that of the new handshake', async (t) => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const rig = await startRig(t);
    const first = shake(rig, { maxVersion });
    const session = once(first, 'session') as Promise<[Buffer]>;
    t.match(await say(first, get('/v1/a')), /^HTTP\/1\.1 502 /);
    const again = shake(rig, { maxVersion, session: (await session)[0] });
    await once(again, 'secureConnect');
    t.equal(again.isSessionReused(), true, maxVersion);
    t.match(await say(again, get('/v1/b')), /^HTTP\/1\.1 502 /);
    const renamed = shake(rig, { maxVersion, session: (await session)[0], servername: 'evil.example', checkServerIdentity: () => undefined });
    t.match(await say(renamed, get('/v1/c')), /^HTTP\/1\.1 421 /, 'a Host that is not the name of the handshake');
    t.match(await say(shake(rig, { maxVersion, session: (await session)[0], servername: 'evil.example', checkServerIdentity: () => undefined }), get('/v1/d', { host: 'evil.example' })), /^HTTP\/1\.1 403 .*"no_match"/s);
    const rows = byPath(await rowsOf(rig));
    t.equal(rows.length, 4);
    t.strictSame(rows.map(({ decision }) => decision), ['allow', 'allow', 'deny', 'deny'], maxVersion);
    t.equal(rig.sent.every(({ host }) => host === 'api.example.com'), true);
  }
});

t.test('without a name: refused, but for an address that a name was given', async (t) => {
  // Loopback has these addresses already; 198.18.0.0/15 would have to be set up.
  const addresses = createSyntheticAddresses({ ...syntheticDefaults, ipv4: { first: '127.100.0.0', prefixBits: 16 } });
  const rig = await startRig(t, { addresses, settings: { host: '0.0.0.0' } });
  const address = addresses.addressOf(workspaceId, 'denied.example', 'A');
  const given = shake(rig, { host: address, localAddress: '127.0.0.1', servername: '', checkServerIdentity: () => undefined });
  await once(given, 'secureConnect');
  t.match(given.getPeerCertificate().subjectaltname, 'DNS:denied.example');
  t.match(await say(given, get('/x', { host: 'denied.example' })), /^HTTP\/1\.1 403 .*"no_match"/s);
  t.match(await say(shake(rig, { host: address, localAddress: '127.0.0.1' }), get('/v1/y')), /^HTTP\/1\.1 502 /, 'a name of the handshake comes first');
  const never = addresses.addressOf('0192aaaa-0000-7000-8000-00000000ffff', 'other.example', 'A');
  addresses.addressOf('0192aaaa-0000-7000-8000-00000000ffff', 'third.example', 'A');
  t.equal(never, address, 'an address means a name within its workspace');
  for (const host of ['127.0.0.1', '127.100.0.2']) t.equal(await say(shake(rig, { host, localAddress: '127.0.0.1', servername: '', checkServerIdentity: () => undefined }), get('/z', { host })), '', host);
  t.strictSame(shown(await rowsOf(rig)), [
    ['denied.example', '/x', 'deny', 'no_match', undefined],
    ['api.example.com', '/v1/y', 'allow', undefined, undefined],
    [undefined, undefined, 'deny', 'no_match', 'no_name'],
    [undefined, undefined, 'deny', 'no_match', 'no_name'],
  ]);
});

t.test('a connection of a known client without a request leaves one row', async (t) => {
  const rig = await startRig(t, { env: { PROXY_HANDSHAKE_TIMEOUT_MS: '50' } });
  const slow = connect(rig.tlsPort, '127.0.0.1');
  slow.on('error', () => undefined).resume();
  await once(slow, 'close');
  await rowsOf(rig);
  const plain = connect(rig.tlsPort, '127.0.0.1');
  plain.on('error', () => undefined).resume();
  plain.write('GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n');
  await once(plain, 'close');
  await rowsOf(rig);
  const h2 = shake(rig, { ALPNProtocols: ['h2'] });
  await new Promise((resolve) => h2.once('close', resolve));
  await rowsOf(rig);
  const silent = shake(rig);
  await once(silent, 'secureConnect');
  silent.end();
  t.strictSame(shown(await rowsOf(rig)), [
    [undefined, undefined, 'deny', 'no_match', 'tls_timeout'],
    [undefined, undefined, 'deny', 'no_match', 'tls_handshake'],
    ['api.example.com', undefined, 'deny', 'no_match', 'tls_handshake'],
    ['api.example.com', undefined, 'deny', 'no_match', 'connection_unused'],
  ]);
});

t.test('the token of an address that is no good: its connections say so', async (t) => {
  const rig = await startRig(t, { sources: '127.0.0.1=expired' });
  t.match(await say(shake(rig), get('/v1/a')), /^HTTP\/1\.1 403 .*"invalid_token"/s);
  const silent = shake(rig);
  await once(silent, 'secureConnect');
  silent.end();
  t.strictSame((await rowsOf(rig)).map(({ path, reason }) => [path, reason]), [['/v1/a', 'invalid_token'], [undefined, 'invalid_token']]);
});

t.test('connections have a bound, and stopping ends them with their rows', async (t) => {
  const rig = await startRig(t, { settings: { proxyConnectionsMax: 2 } });
  const [shaken, shaking] = [shake(rig), connect(rig.tlsPort, '127.0.0.1')];
  shaking.on('error', () => undefined).resume();
  await Promise.all([once(shaken, 'secureConnect'), once(shaking, 'connect')]);
  const third = connect(rig.tlsPort, '127.0.0.1').on('error', () => undefined).resume();
  await once(third, 'close');
  const closed = Promise.all([once(shaken, 'close'), once(shaking, 'close')]);
  shaken.resume();
  await Promise.all([rig.proxy.stop(1000), closed]);
  t.strictSame(shown(await rig.rows()).map((row) => (row as unknown[])[4]).sort(), ['connection_unused', 'tls_handshake']);
});

t.test('a taken port leaves nothing running', async (t) => {
  const rig = await startRig(t);
  await t.rejects(startRig(t, { settings: { proxyTransparentPort: rig.tlsPort } }), { code: 'EADDRINUSE' });
  await t.rejects(startRig(t, { settings: { proxyDnsPort: rig.tlsPort } }), { code: 'EADDRINUSE' });
  await t.rejects(startRig(t, { sources: `127.0.0.1=${token},nowhere` }), { message: 'PROXY_SOURCES: entry 2 is not ADDRESS=CAPABILITY_TOKEN' });
});
