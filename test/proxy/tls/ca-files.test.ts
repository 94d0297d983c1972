import { execFile, execFileSync } from 'node:child_process';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { copyFileSync, existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { findOnPath } from '../../../src/embedded/find-on-path.ts';
import type { Authority } from '../../../src/proxy/tls/authority.ts';
import { openAuthority } from '../../../src/proxy/tls/authority.ts';
import { caDirectory, tlsServer } from './tls-rig.ts';

t.setTimeout(120_000);

const openssl = findOnPath('openssl');
const withOpenssl = openssl === undefined ? { skip: 'openssl is not on PATH' } : {};
const authorityModule = join(import.meta.dirname, '../../../src/proxy/tls/authority.ts');

type Place = { dir: string; certPath: string; keyPath: string };

function open({ certPath, keyPath }: Place, nowMs: () => number = Date.now): Promise<Authority> {
  return openAuthority({ certPath, keyPath, nowMs, leavesMax: 10 });
}

t.test('made at the first start, loaded at the next', async (t) => {
  const place = caDirectory(t);
  const deep = { ...place, certPath: join(place.dir, 'new', 'ca.pem'), keyPath: join(place.dir, 'keys', 'ca-key.pem') };
  const first = await open(deep);
  t.equal(first.created, true);
  t.equal(statSync(deep.keyPath).mode & 0o777, 0o600);
  t.same([...readdirSync(join(place.dir, 'new')), ...readdirSync(join(place.dir, 'keys'))], ['ca.pem', 'ca-key.pem'], 'no temporary files stay');
  t.equal(first.certificatePem, readFileSync(deep.certPath, 'utf8'));
  const second = await open(deep);
  t.equal(second.created, false);
  t.equal(second.fingerprint, first.fingerprint);
});

t.test('processes that start at once agree on one CA', async (t) => {
  const { dir, certPath, keyPath } = caDirectory(t);
  const program = `const { openAuthority } = await import(${JSON.stringify(authorityModule)});
    const { fingerprint, created } = await openAuthority({ certPath: ${JSON.stringify(certPath)}, keyPath: ${JSON.stringify(keyPath)}, nowMs: Date.now, leavesMax: 1 });
    console.log(JSON.stringify({ fingerprint, created }));`;
  const runs = await Promise.all([1, 2, 3].map(() => promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])));
  const answers = runs.map(({ stdout }) => JSON.parse(stdout) as { fingerprint: string; created: boolean });
  t.equal(new Set(answers.map(({ fingerprint }) => fingerprint)).size, 1);
  t.equal(answers.filter(({ created }) => created).length, 1);
  t.same(readdirSync(dir).sort(), ['ca-key.pem', 'ca.pem']);
});

t.test('many openings at once within a process agree too', async (t) => {
  const place = caDirectory(t);
  const opened = await Promise.all(Array.from({ length: 20 }, () => open(place)));
  t.equal(new Set(opened.map(({ fingerprint }) => fingerprint)).size, 1);
  t.equal(opened.filter(({ created }) => created).length, 1);
});

t.test('a crash between the two files: the next start makes the certificate for the key', async (t) => {
  const place = caDirectory(t);
  await open(place);
  const key = readFileSync(place.keyPath, 'utf8');
  rmSync(place.certPath);
  t.equal((await open(place)).created, true);
  t.equal(readFileSync(place.keyPath, 'utf8'), key);
});

t.test('a pair that cannot serve is refused with its reason, and no file is touched', async (t) => {
  const good = caDirectory(t);
  const authority = await open(good);
  const other = caDirectory(t);
  await open(other);
  const pem = (key: ReturnType<typeof generateKeyPairSync>['privateKey']): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();
  const certificate = readFileSync(good.certPath, 'utf8');
  const key = readFileSync(good.keyPath, 'utf8');
  const encrypted = createPrivateKey(key).export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' }).toString();
  const cases: [string, string | undefined, string | undefined, RegExp][] = [
    ['no key', certificate, undefined, /its key is missing at/],
    ['another\'s key', certificate, readFileSync(other.keyPath, 'utf8'), /belongs to another certificate/],
    ['no PEM key', certificate, 'hello', /no private key in PEM form/],
    ['empty key', certificate, '', /no private key in PEM form/],
    ['encrypted key', certificate, encrypted, /is encrypted/],
    ['Ed25519', certificate, pem(generateKeyPairSync('ed25519').privateKey), /expected EC .* or RSA/],
    ['secp256k1', certificate, pem(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey), /expected EC .* or RSA/],
    ['short RSA', certificate, pem(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey), /expected EC .* or RSA/],
    ['no certificate', 'hello', key, /no certificate in PEM form/],
    ['cut short', certificate.replace(/\n[^\n]+\n-----END/, '\n-----END'), key, /cannot be read/],
    ['stranger above it', certificate + readFileSync(other.certPath, 'utf8'), key, /certificate 2 of the file did not issue certificate 1/],
    ['much too large', certificate + ' '.repeat(1_048_577), key, /over 1048576 bytes/],
  ];
  for (const [name, certificateText, keyText, message] of cases) {
    const place = caDirectory(t);
    if (certificateText !== undefined) writeFileSync(place.certPath, certificateText);
    if (keyText !== undefined) writeFileSync(place.keyPath, keyText);
    const before = readdirSync(place.dir);
    const error: unknown = await open(place).then(() => undefined, (reason: unknown) => reason);
    t.match(error, { message }, name);
    t.notMatch(String((error as Error).message), /PRIVATE KEY-----/);
    t.same(readdirSync(place.dir), before, name);
  }
  t.ok(authority.notAfterMs > Date.now());
  await t.rejects(open(good, () => authority.notAfterMs), /expired on 20/);
  await t.rejects(open(good, () => Date.now() - 3 * 86_400_000), /is not valid before 20/);
  t.equal((await open(good, () => authority.notAfterMs - 1)).created, false);
});

t.test('a key given in place of its path is not repeated', async (t) => {
  const place = caDirectory(t);
  await open(place);
  const error: unknown = await open({ ...place, keyPath: readFileSync(place.keyPath, 'utf8') }).then(() => undefined, (reason: unknown) => reason);
  t.equal(String(error), 'Error: PROXY_CA_KEY: expected the path of a file, not the key itself');
});

t.test('a leaf is no CA', async (t) => {
  const place = caDirectory(t);
  const authority = await open(place);
  const { certificate } = await (await tlsServer(t, authority))('a.test');
  const wrong = caDirectory(t);
  writeFileSync(wrong.certPath, `-----BEGIN CERTIFICATE-----\n${certificate.raw.toString('base64')}\n-----END CERTIFICATE-----\n`);
  copyFileSync(place.keyPath, wrong.keyPath);
  await t.rejects(open(wrong), /belongs to another certificate/);
});

function run(dir: string, ...args: string[]): string {
  return execFileSync(openssl ?? '', args, { cwd: dir, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

t.test('OpenSSL, strict as Python is from 3.13 on, verifies what we sign', withOpenssl, async (t) => {
  const place = caDirectory(t);
  const shake = await tlsServer(t, await open(place));
  const { certificate } = await shake('127.0.0.1');
  writeFileSync(join(place.dir, 'leaf.pem'), `-----BEGIN CERTIFICATE-----\n${certificate.raw.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`);
  t.match(run(place.dir, 'verify', '-x509_strict', '-purpose', 'sslserver', '-verify_ip', '127.0.0.1', '-CAfile', 'ca.pem', 'leaf.pem'), /leaf\.pem: OK/);
  const ca = run(place.dir, 'x509', '-in', 'ca.pem', '-noout', '-text');
  t.match(ca, /Basic Constraints: critical\s+CA:TRUE, pathlen:0/);
  t.match(ca, /Key Usage: critical\s+Certificate Sign/);
  const id = /Subject Key Identifier:\s*([0-9A-F:]+)/.exec(ca)?.[1] ?? 'none';
  const leaf = run(place.dir, 'x509', '-in', 'leaf.pem', '-noout', '-text');
  t.ok(leaf.includes(id), 'the authority key identifier is the CA\'s');
  t.notMatch(leaf, /Subject Key Identifier/);
  t.match(leaf, /Basic Constraints: critical\s+CA:FALSE/);
  t.match(leaf, /Key Usage: critical\s+Digital Signature\s/);
});

t.test('CAs that others made serve: RSA, other curves, odd names, and one below a root', withOpenssl, async (t) => {
  const subject = '/C=CH/O=Zoll & Söhne, "AG"/OU=a\\+b/CN=Given CA';
  const kinds: Record<string, string[]> = {
    rsa: ['-newkey', 'rsa:2048'], p256: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'], p384: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384'], p521: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-521'],
  };
  for (const [kind, args] of Object.entries(kinds)) {
    const place = caDirectory(t);
    run(place.dir, 'req', '-x509', '-nodes', '-utf8', '-nameopt', 'utf8', '-days', '20', '-subj', subject, ...args, '-keyout', 'ca-key.pem', '-out', 'ca.pem');
    // Newly made by OpenSSL, so valid from this very second on.
    const authority = await open(place, () => Date.now() + 1000);
    t.equal(authority.created, false);
    const { certificate } = await (await tlsServer(t, authority))('a.test');
    t.equal(certificate.issuer.CN, 'Given CA', kind);
    t.ok(Date.parse(certificate.valid_to) <= authority.notAfterMs, 'no longer than the CA');
  }

  const place = caDirectory(t);
  run(place.dir, 'req', '-x509', '-nodes', '-newkey', 'rsa:2048', '-days', '90', '-subj', '/CN=Root', '-keyout', 'root-key.pem', '-out', 'root.pem');
  run(place.dir, 'req', '-nodes', '-newkey', 'rsa:2048', '-subj', '/CN=Below', '-keyout', 'ca-key.pem', '-out', 'below.csr');
  writeFileSync(join(place.dir, 'ext'), 'basicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=critical,keyCertSign\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n');
  const sign = (extensions: string): string => run(place.dir, 'x509', '-req', '-in', 'below.csr', '-CA', 'root.pem', '-CAkey', 'root-key.pem', '-CAcreateserial', '-days', '30', '-extfile', extensions, '-out', 'ca.pem');
  sign('ext');
  const root = readFileSync(join(place.dir, 'root.pem'), 'utf8');
  writeFileSync(place.certPath, readFileSync(place.certPath, 'utf8') + root);
  const later = (): number => Date.now() + 1000;
  const shake = await tlsServer(t, await open(place, later));
  const { chainLength } = await shake('a.test', { ca: root });
  t.equal(chainLength, 3, 'a client that has the root only gets the certificate between');

  writeFileSync(join(place.dir, 'no-sign'), 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,cRLSign\n');
  sign('no-sign');
  await t.rejects(open(place, later), /is not a CA/);
  writeFileSync(join(place.dir, 'no-ca'), 'basicConstraints=critical,CA:FALSE\n');
  sign('no-ca');
  await t.rejects(open(place, later), /is not a CA/);
  t.ok(existsSync(place.keyPath));
});
