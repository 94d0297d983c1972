import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { gitBackend, makeRepository } from './clients/git-backend.ts';
import { testAuthority } from './clients/test-authority.ts';
import { missing, runTool } from './clients/tools.ts';
import type { Ran } from './clients/tools.ts';
import { echoFrames } from './clients/websocket-echo.ts';
import { startUpstream } from './local-upstream.ts';
import type { LocalUpstream } from './local-upstream.ts';
import { exchange, RawClient, startHarness } from './proxy-harness.ts';
import type { Harness } from './proxy-harness.ts';

type Options = Parameters<typeof startUpstream>[1];
type Rig = { readonly harness: Harness; readonly upstream: LocalUpstream; readonly url: string; readonly dir: string; run(command: string, args: readonly string[], env?: Record<string, string>): Promise<Ran> };

const injected = 'injected-by-the-proxy-0123456789';
const authority = await testAuthority(t);

/** An https upstream, a proxy whose policy admits `/v1/**` of it and puts a secret into a header, and tools that know of HTTPS_PROXY and the CA. */
async function rig(t: Parameters<typeof startHarness>[0], options: Options = {}): Promise<Rig> {
  const upstream = await startUpstream(t, { tls: await authority.certificateFor('api.example.com'), ...options });
  const harness = await startHarness(t, {
    caps: `- name: demo\n  type: http\n  allow: [{name: api, domains: ["api.example.com:${upstream.port}"], methods: [GET, POST], paths: ["/v1/**"]}]\n  transforms: [{header: {name: x-injected, action: set, value: 'secrets["key"]'}}]\n`,
    workspace: { secrets: new Map([['key', injected]]) }, env: { PROXY_UPSTREAM_CA: authority.caPath },
  });
  const dir = await mkdtemp(join(tmpdir(), 'customhouse-client-'));
  t.teardown(() => rm(dir, { recursive: true }));
  await writeFile(join(dir, 'ca.pem'), harness.ca);
  const proxy = `http://agent:${await harness.token({ taskId: 'task-1' })}@127.0.0.1:${harness.port}`;
  // wget reads the name in small letters only.
  const env = { HOME: dir, HTTPS_PROXY: proxy, https_proxy: proxy };
  return { harness, upstream, url: `https://api.example.com:${upstream.port}`, dir, run: (command, args, more = {}) => runTool(command, args, { ...env, ...more }) };
}

/**
 * Rows of the calls: those that reached the upstream, each with the secret, and the denied ones; `asked` are tunnels that the client
 * first wants without its token, to hear that it needs one.
 */
async function counted(t: { equal(a: unknown, b: unknown, name: string): unknown; strictSame(a: unknown, b: unknown, name: string): unknown; ok(a: unknown, name: string): unknown }, { harness, upstream }: Rig, denied: number, asked = 0): Promise<void> {
  let rows = await harness.rows();
  while (rows.length < upstream.hits.length + denied + asked) rows = await harness.rows();
  t.equal(rows.length, upstream.hits.length + denied + asked, 'rows = requests');
  t.ok(upstream.hits.length > 0, 'the allowed call came');
  t.ok(upstream.hits.every((_, at) => upstream.header(at, 'x-injected') === injected), 'with the injected header');
  t.ok(upstream.hits.every(({ url }) => url.startsWith('/v1/')), 'and no other');
  t.strictSame(rows.filter(({ decision }) => decision === 'deny').map(({ reason, task_id, method, destination }) => [reason, task_id, method, destination]).sort(), [
    ...Array<unknown>(denied).fill(['no_match', 'task-1', 'GET', 'api.example.com']), ...Array<unknown>(asked).fill(['no_token', undefined, 'CONNECT', 'api.example.com']),
  ], 'denied rows');
  t.strictSame(harness.logged, [], 'nothing to complain of');
}

/** A client that prints one status for each URL of its arguments. */
function prints(name: string, command: string, argsOf: (ca: string) => readonly string[], envOf: (ca: string) => Record<string, string> = () => ({}), skip: string | false = missing(command)): void {
  t.test(name, { skip }, async (t) => {
    const given = await rig(t);
    const ca = join(given.dir, 'ca.pem');
    const { code, stdout, stderr } = await given.run(command, [...argsOf(ca), `${given.url}/v1/a?b=1`, `${given.url}/v2/a`], envOf(ca));
    t.equal(stdout.trim().replaceAll(/\s+/g, ' '), '200 403', stderr);
    t.equal(code, 0);
    await counted(t, given, 1);
  });
}

const nodeArgs = (script: string): string[] => ['--input-type=module', '-e', script];
const nodeEnv = (ca: string): Record<string, string> => ({ NODE_EXTRA_CA_CERTS: ca });
const each = 'for (const url of process.argv.slice(1)) ';

prints('curl', 'curl', () => ['-sS', '-o', '/dev/null', '-o', '/dev/null', '-w', '%{http_code}\\n'], (ca) => ({ CURL_CA_BUNDLE: ca }));
prints('fetch of Node', process.execPath, () => nodeArgs(`${each}console.log((await fetch(url)).status)`), (ca) => ({ ...nodeEnv(ca), NODE_USE_ENV_PROXY: '1' }));
prints('https of Node', process.execPath, () => nodeArgs(`import { get } from 'node:https'; ${each}console.log(await new Promise((resolve, reject) => get(url, (response) => resolve(response.resume().statusCode)).on('error', reject)))`), (ca) => ({ ...nodeEnv(ca), NODE_USE_ENV_PROXY: '1' }));
prints('EnvHttpProxyAgent of undici', process.execPath, () => nodeArgs(`import { EnvHttpProxyAgent, fetch } from 'undici'; const dispatcher = new EnvHttpProxyAgent(); ${each}console.log((await fetch(url, { dispatcher })).status); await dispatcher.close()`), nodeEnv);
prints('urllib of Python', 'python3', () => ['-c', 'import sys, urllib.request, urllib.error\nfor url in sys.argv[1:]:\n  try: print(urllib.request.urlopen(url).status)\n  except urllib.error.HTTPError as error: print(error.code)'], (ca) => ({ SSL_CERT_FILE: ca }));
prints('requests of Python, as pip has it', 'python3', () => ['-c', 'import sys\nfrom pip._vendor import requests\nwith requests.Session() as session:\n  for url in sys.argv[1:]: print(session.get(url).status_code)'], (ca) => ({ REQUESTS_CA_BUNDLE: ca }), missing('python3', ['-c', 'from pip._vendor import requests']));

t.test('wget', { skip: missing('wget') }, async (t) => {
  const given = await rig(t);
  const fetched = (path: string): Promise<Ran> => given.run('wget', ['-nv', '-O', '-', '--tries=1', `--ca-certificate=${join(given.dir, 'ca.pem')}`, `${given.url}${path}`]);
  const good = await fetched('/v1/a');
  t.equal(good.stdout, 'hello', good.stderr);
  const bad = await fetched('/v2/a');
  t.equal(bad.code, 8, 'the server issued an error response');
  t.match(bad.stderr, /403/);
  await counted(t, given, 1);
});

t.test('git clone over smart http', { skip: missing('git') }, async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'customhouse-git-'));
  t.teardown(() => rm(root, { recursive: true }));
  await makeRepository(root, root);
  const bodies = new WeakMap<object, Buffer[]>();
  const given = await rig(t, { handler: gitBackend(root, (request) => Buffer.concat(bodies.get(request) ?? [])) });
  given.upstream.server.prependListener('request', (request) => {
    const chunks: Buffer[] = [];
    bodies.set(request, chunks);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
  });
  const env = { GIT_SSL_CAINFO: join(given.dir, 'ca.pem'), GIT_TERMINAL_PROMPT: '0' };
  const into = join(given.dir, 'clone');
  const cloned = await given.run('git', ['clone', '-q', `${given.url}/v1/demo.git`, into], env);
  t.equal(cloned.code, 0, cloned.stderr);
  t.match(await readFile(join(into, 'README'), 'utf8'), /^through the proxy\n/);
  t.ok(given.upstream.hits.length >= 2, 'refs, then the pack');
  const refused = await given.run('git', ['clone', '-q', `${given.url}/v2/demo.git`, `${into}-2`], env);
  t.equal(refused.code, 128);
  t.match(refused.stderr, /403/);
  await counted(t, given, 1, 2);
});

t.test('WebSocket of undici', async (t) => {
  const opened: (string | undefined)[] = [];
  const given = await rig(t, {
    onUpgrade: (request, socket) => {
      opened.push(request.headers['x-injected'] as string | undefined);
      echoFrames(request, socket);
    },
  });
  const script = `import { EnvHttpProxyAgent, WebSocket } from 'undici';
    const dispatcher = new EnvHttpProxyAgent();
    for (const url of process.argv.slice(1)) {
      const socket = new WebSocket(url.replace('https:', 'wss:'), { dispatcher });
      await new Promise((resolve) => {
        socket.onopen = () => socket.send('over there and back');
        socket.onmessage = ({ data }) => { console.log(data); socket.close(); };
        socket.onerror = () => console.log('refused');
        socket.onclose = resolve;
      });
    }
    await dispatcher.destroy();`;
  const { stdout, stderr, code } = await given.run(process.execPath, [...nodeArgs(script), `${given.url}/v1/socket`, `${given.url}/v2/socket`], nodeEnv(join(given.dir, 'ca.pem')));
  t.equal(stdout, 'over there and back\nrefused\n', stderr);
  t.equal(code, 0);
  t.strictSame(opened, [injected]);
  let rows = await given.harness.rows();
  while (rows.length < 2) rows = await given.harness.rows();
  t.match(rows.map(({ path, decision, detail }) => [path, decision, detail?.['upgraded'] ?? false]).sort(), [['/v1/socket', 'allow', true], ['/v2/socket', 'deny', false]]);
  t.strictSame(given.harness.logged, []);
});

t.test('a tunnel asked for with HTTP/1.0, as Python does up to 3.11', async (t) => {
  const { harness, upstream } = await rig(t);
  const client = new RawClient(harness.port).send(`CONNECT api.example.com:${upstream.port} HTTP/1.0\r\nProxy-Authorization: Bearer ${await harness.token()}\r\n\r\n`);
  await client.until(/^HTTP\/1\.1 200 /);
  client.socket.end();
  await client.closed;
  t.match(await exchange(harness.port, `CONNECT api.example.com:${upstream.port} HTTP/1.0\r\n\r\n`), /^HTTP\/1\.1 407 /);
  t.match((await harness.rows()).map(({ method, detail, reason }) => [method, detail?.['refused'], reason]), [['CONNECT', 'tls_handshake', 'no_match'], ['CONNECT', undefined, 'no_token']]);
});
