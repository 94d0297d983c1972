import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import t from 'tap';
import { signCapabilityToken } from '../../src/identity/tokens.ts';
import { createSyntheticAddresses, syntheticDefaults } from '../../src/proxy/dns/synthetic-addresses.ts';
import { orgId, workspaceId } from './proxy-harness.ts';
import { byPath, get, key, rowsOf, say, shake, shown, startRig } from './transparent-rig.ts';

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

t.test('curl, which knows of no proxy', async (t) => {
  const rig = await startRig(t);
  const dir = t.testdir({ 'ca.pem': rig.ca });
  const curl = async (host: string): Promise<string> => {
    const { stdout } = await promisify(execFile)('curl', ['-s', '--noproxy', '*', '--cacert', `${dir}/ca.pem`, '--connect-to', `::127.0.0.1:${rig.tlsPort}`, '-w', '\n%{http_code}', `https://${host}/v1/a`]);
    return stdout;
  };
  t.match(await curl('api.example.com'), /\n502$/);
  t.match(await curl('denied.example'), /"code":"no_match".*\n403$/s);
  t.strictSame((await rowsOf(rig)).map(({ destination, decision }) => [destination, decision]), [['api.example.com', 'allow'], ['denied.example', 'deny']]);
});
