import { X509Certificate, generateKeyPairSync } from 'node:crypto';
import t from 'tap';
import { loadCertificateAuthority } from '../../../src/proxy/tls/certificate-authority.ts';
import { createLeafCache } from '../../../src/proxy/tls/leaf-cache.ts';
import { mintLeaf } from '../../../src/proxy/tls/leaf-certificate.ts';
import { authorityIn, caDirectory, tlsServer } from './tls-rig.ts';

t.setTimeout(120_000);

const dayMs = 86_400_000;

t.test('hosts that are none get no certificate, and nothing is kept of them', async (t) => {
  const authority = await authorityIn(t);
  for (const host of ['', '*.example.com', '*', 'a..b', 'bücher.example', '127.1', '[::1]', 'a b', 'a\0b', 'x'.repeat(64), `${'a.'.repeat(127)}ab`, 'fe80::1%eth0']) {
    await t.rejects(authority.leafFor(host), /no certificate for this host/, JSON.stringify(host));
  }
  t.same(authority.stats(), { kept: 0, minted: 0 });
});

t.test('spellings of one host share a certificate', async (t) => {
  const authority = await authorityIn(t);
  const context = await authority.leafFor('API.Example.com.');
  t.equal(await authority.leafFor('api.example.com'), context);
  t.equal(await authority.leafFor('0:0::1'), await authority.leafFor('::1'));
  t.same(authority.stats(), { kept: 2, minted: 2 });
});

t.test('a hundred connections to a new host cost one certificate', async (t) => {
  const authority = await authorityIn(t);
  const contexts = new Set(await Promise.all(Array.from({ length: 100 }, () => authority.leafFor('new.test'))));
  t.equal(contexts.size, 1);
  t.same(authority.stats(), { kept: 1, minted: 1 });
});

t.test('the least recently used goes when there are too many', async (t) => {
  const authority = await authorityIn(t, { leavesMax: 3 });
  const first = await authority.leafFor('h0.test');
  for (const host of ['h1.test', 'h2.test', 'h0.test', 'h3.test']) await authority.leafFor(host);
  t.same(authority.stats(), { kept: 3, minted: 4 });
  t.equal(await authority.leafFor('h0.test'), first, 'used since, so kept');
  t.equal(authority.stats().minted, 4);
  await authority.leafFor('h1.test');
  t.same(authority.stats(), { kept: 3, minted: 5 }, 'h1 was the longest unused');
});

t.test('a leaf is minted anew before it ends, and when the clock is set back', async (t) => {
  const startMs = Date.now();
  let now = startMs;
  const authority = await authorityIn(t, { nowMs: () => now });
  const first = await authority.leafFor('a.test');
  for (now = startMs; now < startMs + 22 * dayMs; now += dayMs) t.equal(await authority.leafFor('a.test'), first);
  now = startMs + 23 * dayMs;
  const second = await authority.leafFor('a.test');
  t.not(second, first, 'with days to spare');
  t.equal(await authority.leafFor('a.test'), second);
  now = startMs;
  t.not(await authority.leafFor('a.test'), second, 'not valid yet for clients whose clock is right');
  t.equal(authority.stats().kept, 1);
});

t.test('a leaf ends no later than its CA, after which none is minted', async (t) => {
  const startMs = Date.now();
  const { certPath, keyPath } = caDirectory(t);
  const ca = await loadCertificateAuthority({ certPath, keyPath, nowMs: () => startMs });
  const leafSpki = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'der' });
  const host = { kind: 'name', text: 'a.test' } as const;
  const late = await mintLeaf({ ...ca, leafSpki }, host, ca.notAfterMs - dayMs);
  t.equal(new X509Certificate(late.pem).validToDate.getTime(), ca.notAfterMs);
  await t.rejects(mintLeaf({ ...ca, leafSpki }, host, ca.notAfterMs), /the CA expired on 20\d\d-/);
});

t.test('years from 2050 on are written in full', async (t) => {
  const { certPath, keyPath } = caDirectory(t);
  const ca = await loadCertificateAuthority({ certPath, keyPath, nowMs: () => Date.UTC(2049, 11, 20) });
  t.equal(new Date(ca.notAfterMs).getUTCFullYear(), 2059);
  const leafSpki = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'der' });
  const { pem } = await mintLeaf({ ...ca, leafSpki }, { kind: 'name', text: 'a.test' }, Date.UTC(2049, 11, 20));
  const leaf = new X509Certificate(pem);
  t.equal(leaf.validFromDate.toISOString(), '2049-12-19T00:00:00.000Z');
  t.equal(leaf.validToDate.toISOString(), '2050-01-19T00:00:00.000Z');
});

t.test('a failed make is told to all who wait and is not kept', async (t) => {
  let calls = 0;
  const cache = createLeafCache<number>({
    nowMs: () => 0,
    sizeMax: 2,
    async make() {
      calls += 1;
      if (calls === 1) throw new Error('no luck');
      return { value: calls, fromMs: 0, untilMs: 1 };
    },
  });
  const [one, two] = await Promise.allSettled([cache.get('a'), cache.get('a')]);
  t.match([one, two], [{ status: 'rejected', reason: /no luck/ }, { status: 'rejected', reason: /no luck/ }]);
  t.equal(calls, 1);
  t.equal(await cache.get('a'), 2);
  t.equal(cache.size(), 1);
});

t.test('a renewed leaf is what the next handshake gets', async (t) => {
  const startMs = Date.now();
  // The past, so that the second leaf is one that a client of today takes.
  let now = startMs - 25 * dayMs;
  const authority = await authorityIn(t, { nowMs: () => now });
  const shake = await tlsServer(t, authority);
  const first = await shake('a.test');
  now = startMs;
  const second = await shake('a.test');
  t.not(second.certificate.serialNumber, first.certificate.serialNumber);
  t.ok(Date.parse(second.certificate.valid_to) > Date.parse(first.certificate.valid_to) + 20 * dayMs);
});
