import { X509Certificate, createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { checkServerIdentity } from 'node:tls';
import t from 'tap';
import { openAuthority } from '../../../src/proxy/tls/authority.ts';
import { authorityIn, caDirectory, tlsServer } from './tls-rig.ts';

t.setTimeout(120_000);

const longName = `${'a'.repeat(60)}.${'b'.repeat(60)}.example.com`;

t.test('a client that trusts the CA alone accepts the leaf of each kind of host, for that host only', async (t) => {
  const authority = await authorityIn(t);
  const shake = await tlsServer(t, authority);
  for (const host of ['api.example.com', 'under_score.example.com', 'xn--bcher-kva.example', 'localhost', longName]) {
    const { certificate } = await shake(host);
    t.equal(certificate.subjectaltname, `DNS:${host}`);
    t.equal(certificate.subject.CN, host.length > 64 ? undefined : host);
    t.ok(checkServerIdentity(`x.${host}`, certificate), 'no wildcard');
    t.ok(checkServerIdentity('other.example.com', certificate));
  }
  await t.rejects(shake('api.example.com', { servername: 'other.example.com' }), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  await t.rejects(shake('api.example.com', { ca: [] }), { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
});

t.test('addresses stand in the certificate as addresses', async (t) => {
  const shake = await tlsServer(t, await authorityIn(t));
  // Node checks the certificate against the address it dials.
  t.equal((await shake('127.0.0.1')).certificate.subjectaltname, 'IP Address:127.0.0.1');
  for (const [host, shown] of [['2001:db8::1', '2001:DB8:0:0:0:0:0:1'], ['::1', '0:0:0:0:0:0:0:1'], ['::', '0:0:0:0:0:0:0:0'], ['fe80:1:2:3:4:5:6:7', 'FE80:1:2:3:4:5:6:7'], ['1::', '1:0:0:0:0:0:0:0']] as const) {
    const { certificate } = await shake(host, { checkServerIdentity: (_name, given) => checkServerIdentity(host, given) });
    t.equal(certificate.subjectaltname, `IP Address:${shown}`);
  }
  await t.rejects(shake('10.0.0.1'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
});

t.test('TLS 1.2 at least, HTTP/1.1 only', async (t) => {
  const shake = await tlsServer(t, await authorityIn(t));
  t.match(await shake('a.test'), { protocol: 'TLSv1.3', alpn: 'http/1.1' });
  t.match(await shake('a.test', { maxVersion: 'TLSv1.2' }), { protocol: 'TLSv1.2', alpn: 'http/1.1' });
  t.match(await shake('a.test', { ALPNProtocols: ['h2', 'http/1.1'] }), { alpn: 'http/1.1' });
  t.match(await shake('a.test', { ALPNProtocols: [] }), { alpn: false }, 'a client without ALPN is served');
  await t.rejects(shake('a.test', { ALPNProtocols: ['h2'] }), { code: 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL' });
  await t.rejects(shake('a.test', { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }), { code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' });
});

t.test('sessions are resumed, also by the context of a leaf minted anew, and not by another process', async (t) => {
  const { certPath, keyPath } = caDirectory(t);
  const options = { certPath, keyPath, nowMs: Date.now, leavesMax: 1 };
  const authority = await openAuthority(options);
  const shake = await tlsServer(t, authority);
  const elsewhere = await tlsServer(t, await openAuthority(options));
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const first = await shake('a.test', { maxVersion });
    t.equal(first.resumed, false);
    t.ok(first.session);
    const session = { maxVersion, ...(first.session === undefined ? {} : { session: first.session }) };
    t.equal((await shake('a.test', session)).resumed, true, `${maxVersion}: the same context`);
    await shake('b.test', { maxVersion });
    const { minted } = authority.stats();
    t.equal((await shake('a.test', session)).resumed, true, `${maxVersion}: a new context`);
    t.equal(authority.stats().minted, minted + 1, 'room for one only, so the context is new');
    t.equal((await elsewhere('a.test', session)).resumed, false, `${maxVersion}: ticket keys of another process`);
  }
});

t.test('certificates have what strict clients ask for', async (t) => {
  const { certPath, keyPath } = caDirectory(t);
  const authority = await openAuthority({ certPath, keyPath, nowMs: Date.now, leavesMax: 10 });
  const shake = await tlsServer(t, authority);
  const { certificate, chainLength } = await shake('a.test');
  const leaf = new X509Certificate(certificate.raw);
  const ca = new X509Certificate(readFileSync(certPath));
  t.ok(leaf.checkIssued(ca) && leaf.verify(ca.publicKey));
  t.equal(leaf.ca, false);
  t.same(leaf.keyUsage, ['1.3.6.1.5.5.7.3.1']);
  t.ok(leaf.validFromDate.getTime() <= Date.now() - 86_000_000, 'a clock a day behind');
  t.ok(leaf.validToDate.getTime() - leaf.validFromDate.getTime() < 398 * 86_400_000);
  t.equal(chainLength, 2);
  t.match(leaf.serialNumber, /^[4-7][0-9A-F]{31}$/);
  t.ok(ca.ca);
  t.match(ca.subject, /^CN=Customhouse CA [0-9a-f]{8}$/);
  t.ok(ca.validToDate.getTime() > Date.now() + 3640 * 86_400_000);
  t.ok(ca.checkPrivateKey(createPrivateKey(readFileSync(keyPath))));
  t.equal(authority.fingerprint, ca.fingerprint256);
  t.notOk(leaf.checkPrivateKey(createPrivateKey(readFileSync(keyPath))), 'the CA\'s key is not the key of its leaves');
  const other = new X509Certificate((await shake('b.test')).certificate.raw);
  t.ok(other.publicKey.equals(leaf.publicKey), 'one key for all leaves');
  t.not(other.serialNumber, leaf.serialNumber);
});

t.test('a session of one host does not stand for another host', async (t) => {
  const shake = await tlsServer(t, await authorityIn(t));
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const { session } = await shake('a.test', { maxVersion });
    const other = await shake('b.test', { maxVersion, checkServerIdentity: () => undefined, ...(session === undefined ? {} : { session }) });
    t.equal(other.resumed, false, maxVersion);
  }
});
