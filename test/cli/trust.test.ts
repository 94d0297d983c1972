import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import t from 'tap';
import type { DevFile } from '../../src/cli/dev-file.ts';
import { writeDevFile } from '../../src/cli/dev-file.ts';
import { openAuthority } from '../../src/proxy/tls/authority.ts';
import { runCli } from '../support/up.ts';

t.setTimeout(120_000);

const dir = mkdtempSync(join(tmpdir(), 'customhouse-trust-'));
t.teardown(() => rmSync(dir, { recursive: true, force: true }));
const dataDir = join(dir, 'it\'s a place');
mkdirSync(dataDir);
const caPath = join(dataDir, 'ca.pem');
const authority = await openAuthority({ certPath: caPath, keyPath: join(dataDir, 'ca-key.pem'), nowMs: Date.now, leavesMax: 1 });

type Trust = { ca_cert: string; fingerprint_sha256: string; proxy_url: string; bundle: { path: string; certificates: number } | null; environment: Record<string, string>; tools: { tool: string; lines: string[] }[] };

async function json(...args: string[]): Promise<Trust> {
  const { code, stdout, stderr } = await runCli(['trust', '--format', 'json', ...args]);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Trust;
}

function dev(caCert: string | null): void {
  const file: DevFile = { base_url: 'http://127.0.0.1:1', proxy_url: 'http://127.0.0.1:4242', dns: null, transparent_tls: null, ca_cert: caCert, postgres_url: '', redis_url: '', clickhouse_url: '', orgs: [], pids: { api: 1, proxy: 1, worker: 1, postgres: 1, redis: 1, clickhouse: 1 } };
  writeDevFile(dataDir, file);
}

t.test('finds the CA: by --ca, by a data directory, by dev.json, by PROXY_CA_CERT', async (t) => {
  t.match(await json('--ca', caPath), { ca_cert: caPath, fingerprint_sha256: authority.fingerprint, bundle: null });
  t.match(await json('--data-dir', dataDir), { ca_cert: caPath });
  dev(null);
  t.match(await json('--data-dir', dataDir), { ca_cert: caPath, proxy_url: 'http://127.0.0.1:4242' });
  const elsewhere = join(dir, 'elsewhere.pem');
  writeFileSync(elsewhere, authority.certificatePem);
  dev(elsewhere);
  t.match(await json('--data-dir', dataDir), { ca_cert: elsewhere });
  const { code, stdout, stderr } = await runCli(['trust', '--ca', caPath], { HOST: '0.0.0.0', PROXY_PORT: '9' });
  t.equal(code, 0, stderr);
  t.match(stdout, authority.fingerprint);
});

t.test('what is wrong is told in one line', async (t) => {
  writeFileSync(join(dir, 'text.pem'), 'hello');
  const blocked = join(dir, 'missing', 'out.pem');
  const wrong: [string[], RegExp][] = [
    [['--ca', join(dir, 'none.pem')], /no CA certificate at .*none\.pem/],
    [['--ca', join(dir, 'text.pem')], /no certificate in PEM form/],
    [['--ca', join(dataDir, 'ca-key.pem')], /no certificate in PEM form/],
    [['--data-dir', join(dir, 'nothing')], /no stack in .*nothing/],
    [['--ca', caPath, '--bundle', caPath], /this is the CA itself/],
    [['--ca', caPath, '--bundle', blocked], /--bundle: .*cannot be written \(ENOENT\)/],
    [['--ca', caPath, '--format', 'xml'], /human, json/],
  ];
  for (const [args, message] of wrong) {
    const { code, stdout, stderr } = await runCli(['trust', ...args]);
    t.equal(code, 1, args.join(' '));
    t.equal(stdout, '');
    t.match(stderr, message);
    t.notMatch(stderr, /PRIVATE KEY|\n {4}at /);
  }
  t.equal(readFileSync(caPath, 'utf8'), authority.certificatePem);
});

t.test('--bundle holds the CA and every public root once, and replaces an older one', async (t) => {
  const path = join(dataDir, 'all.pem');
  writeFileSync(path, 'old');
  const { bundle, environment } = await json('--ca', caPath, '--bundle', path);
  const prints = (readFileSync(path, 'utf8').match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? []).map((pem) => new X509Certificate(pem).fingerprint256);
  t.equal(bundle?.certificates, prints.length);
  t.equal(new Set(prints).size, prints.length);
  t.equal(prints[0], authority.fingerprint);
  const held = new Set(prints);
  t.same(rootCertificates.filter((pem) => !held.has(new X509Certificate(pem).fingerprint256)), []);
  t.same(readdirSync(dataDir).filter((name) => name.includes('.tmp')), []);
  t.equal(environment['SSL_CERT_FILE'], path);
  t.equal(environment['NODE_EXTRA_CA_CERTS'], caPath, 'what Node adds to its own needs no roots');
});

t.test('the lines do what they say in a shell, also with spaces and quotes in the path', async (t) => {
  const { tools, environment } = await json('--data-dir', dataDir);
  t.same(tools.map(({ tool }) => tool), ['all', 'curl', 'Node', 'Python', 'Go', 'Java', 'git', 'wget', 'AWS, Cargo, Deno']);
  const home = mkdtempSync(join(dir, 'home-'));
  const bin = mkdtempSync(join(dir, 'bin-'));
  // Stand-ins that write down their arguments, so that nothing of this machine is changed.
  for (const name of ['git', 'keytool']) {
    writeFileSync(join(bin, name), `#!/bin/sh\nfor one in "$@"; do printf '%s\\n' "$one"; done > "$HOME/${name}.args"\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const script = [...tools.flatMap(({ lines }) => lines), 'env'].join('\n');
  const shown = execFileSync('sh', ['-eu', '-c', script], { cwd: home, encoding: 'utf8', env: { HOME: home, TOKEN: 'tok', PATH: `${bin}:/usr/bin:/bin` } });
  const values = new Map(shown.split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
  for (const [name, value] of Object.entries(environment).filter(([key]) => key !== 'GIT_SSL_CAINFO')) t.equal(values.get(name), value, name);
  t.equal(values.get('GIT_SSL_CAINFO'), undefined, 'git has its own line');
  for (const name of ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy']) t.equal(values.get(name), 'http://agent:tok@127.0.0.1:4242');
  const named = environment['SSL_CERT_FILE'] ?? '';
  t.same(readFileSync(join(home, 'git.args'), 'utf8').split('\n').slice(0, 4), ['config', '--global', 'http.sslCAInfo', named]);
  t.ok(readFileSync(join(home, 'keytool.args'), 'utf8').includes(`-file\n${named}\n`));
  t.equal(readFileSync(join(home, '.wgetrc'), 'utf8'), `ca_certificate=${named}\n`);
});
