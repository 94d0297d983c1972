import { once } from 'node:events';
import { Agent, request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import t from 'tap';
import { startUpstream } from './local-upstream.ts';
import { exchange, RawClient, startHarness } from './proxy-harness.ts';
import type { Harness } from './proxy-harness.ts';

const caps = (port: number, rest = ''): string => `- name: demo\n  type: http\n  allow:\n    - {name: api, domains: ["api.example.com:${port}"], methods: [GET, POST], paths: ["/v1/**"], allow_insecure: true}\n${rest}`;

/** Opens a tunnel by hand and shakes hands inside of it. */
async function tunnel(harness: Harness, host: string, port: number, { sni = host, token }: { sni?: string; token?: string } = {}): Promise<TLSSocket> {
  const socket = connect(harness.port, '127.0.0.1');
  socket.write(`CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}\r\nProxy-Authorization: Bearer ${token ?? await harness.token()}\r\n\r\n`);
  const [answer] = await once(socket, 'data') as [Buffer];
  if (!/^HTTP\/1\.1 200 /.test(answer.toString())) throw new Error(answer.toString());
  const secure = tlsConnect({ socket, ca: harness.ca, servername: sni, checkServerIdentity: () => undefined, ALPNProtocols: ['h2', 'http/1.1'] });
  await once(secure, 'secureConnect');
  return secure;
}

async function say(secure: TLSSocket, text: string): Promise<string> {
  let received = '';
  secure.on('data', (chunk: Buffer) => { received += chunk.toString('latin1'); });
  const closed = once(secure, 'close');
  secure.write(text);
  await closed;
  return received;
}

t.test('inside a tunnel: certificates of our own, requests decided one by one, a row each', async (t) => {
  const upstream = await startUpstream(t);
  const sent: { scheme: string; host: string }[] = [];
  const harness = await startHarness(t, {
    caps: caps(upstream.port),
    send: async (request) => {
      sent.push({ scheme: request.scheme, host: request.host });
      return { failure: 'connect_failed', sent: false };
    },
  });
  const secure = await tunnel(harness, 'api.example.com', upstream.port);
  t.equal(secure.authorized, true);
  t.equal(secure.alpnProtocol, 'http/1.1');
  t.match(secure.getPeerCertificate().subjectaltname, /DNS:api\.example\.com/);
  const host = `Host: api.example.com:${upstream.port}\r\n`;
  const answers = await say(secure, `GET /v1/a HTTP/1.1\r\n${host}\r\nGET /v2/b HTTP/1.1\r\n${host}\r\nGET /v1/c HTTP/1.1\r\n${host}Connection: close\r\n\r\n`);
  t.strictSame(answers.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 502', 'HTTP/1.1 403', 'HTTP/1.1 502']);
  t.strictSame(sent, [{ scheme: 'https', host: 'api.example.com' }, { scheme: 'https', host: 'api.example.com' }]);
  const rows = (await harness.rows()).map(({ path, reason, decision }) => [path, decision, reason]).sort();
  t.strictSame(rows, [['/v1/a', 'allow', undefined], ['/v1/c', 'allow', undefined], ['/v2/b', 'deny', 'no_match']]);
});

t.test('a tunnel is opened for hosts that a rule names only, with a token only', async (t) => {
  const harness = await startHarness(t, { caps: caps(443) });
  const token = await harness.token();
  const connect = (target: string, headers: string): Promise<string> => exchange(harness.port, `CONNECT ${target} HTTP/1.1\r\n${headers}\r\n`);
  t.match(await connect('api.example.com:443', ''), /^HTTP\/1\.1 407 [^]*proxy-authenticate/i);
  const auth = `Proxy-Authorization: Bearer ${token}\r\n`;
  for (const [target, status, headers] of [
    ['other.example.com:443', 403], ['api.example.com', 400], ['api.example.com:0', 400], ['u@api.example.com:443', 400], ['api.example.com:443', 421, 'Host: other.example.com:443\r\n'], ['ex%61mple.com:443', 400], ['127.1:443', 400],
  ] as [string, number, string?][]) t.match(await connect(target, auth + (headers ?? '')), new RegExp(`^HTTP/1\\.1 ${status} `), target);
  t.equal((await harness.rows()).length, 8);
});

t.test('names that do not agree are refused: SNI, Host, absolute form, CONNECT inside', async (t) => {
  const harness = await startHarness(t, { caps: caps(443) });
  const host = 'Host: api.example.com\r\nConnection: close\r\n\r\n';
  for (const [sni, text, refused] of [
    ['other.example.com', `GET /v1/a HTTP/1.1\r\n${host}`, 'sni_mismatch'],
    ['api.example.com', 'GET /v1/a HTTP/1.1\r\nHost: other.example.com\r\nConnection: close\r\n\r\n', 'host_mismatch'],
    ['api.example.com', `GET https://other.example.com/v1/a HTTP/1.1\r\n${host}`, 'target_mismatch'],
    ['api.example.com', `GET http://api.example.com/v1/a HTTP/1.1\r\n${host}`, 'target_mismatch'],
    ['api.example.com', 'CONNECT other.example.com:443 HTTP/1.1\r\nHost: other.example.com\r\n\r\n', 'nested_connect'],
    ['api.example.com', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'malformed_request'],
  ] as const) {
    const answer = await say(await tunnel(harness, 'api.example.com', 443, { sni }), text);
    t.match(answer, /^HTTP\/1\.1 4\d\d /, refused);
    const row = (await harness.rows()).at(-1);
    t.match(row, { decision: 'deny', detail: { refused } }, refused);
  }
  t.equal((await harness.rows()).length, 6);
});

t.test('a tunnel through which no request comes has one row of its own', async (t) => {
  const harness = await startHarness(t, { caps: caps(443), env: { PROXY_HANDSHAKE_TIMEOUT_MS: '200' } });
  const token = await harness.token();
  const open = async (): Promise<RawClient> => {
    const client = new RawClient(harness.port).send(`CONNECT api.example.com:443 HTTP/1.1\r\nProxy-Authorization: Bearer ${token}\r\n\r\n`);
    await client.until(/ 200 /);
    return client;
  };
  await (await open()).send('SSH-2.0-OpenSSH_9.6\r\n').closed;
  await (await open()).closed;
  (await tunnel(harness, 'api.example.com', 443)).end();
  let rows = await harness.rows();
  while (rows.length < 3) rows = await harness.rows();
  t.strictSame(rows.map(({ method, destination, detail }) => [method, destination, detail?.['refused']]).sort(), [
    ['CONNECT', 'api.example.com', 'tls_handshake'], ['CONNECT', 'api.example.com', 'tls_handshake'], ['CONNECT', 'api.example.com', 'tunnel_unused'],
  ]);
});

t.test('https in clear to the proxy port is never stripped of its TLS', async (t) => {
  const harness = await startHarness(t, { caps: caps(443) });
  const answer = await exchange(harness.port, `GET https://api.example.com/v1/x HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\nProxy-Authorization: Bearer ${await harness.token()}\r\n\r\n`);
  t.match(answer, /"code":"no_scheme"/);
  t.match(await harness.rows(), [{ reason: 'no_scheme' }]);
});

t.test('a WebSocket: bytes both ways, one row at its end', async (t) => {
  const upstream = await startUpstream(t, {
    onUpgrade: (request, socket, head) => {
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\nfirst ${head.toString()}`);
      socket.on('data', (chunk: Buffer) => { socket.write(`echo ${chunk.toString()} ${String(request.headers['sec-websocket-key'])}`); });
      socket.on('end', () => socket.end());
    },
  });
  const harness = await startHarness(t, { caps: caps(upstream.port) });
  const token = await harness.token();
  const ask = (path: string): string => `GET http://api.example.com:${upstream.port}${path} HTTP/1.1\r\nHost: api.example.com:${upstream.port}\r\nProxy-Authorization: Bearer ${token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k1\r\n\r\n`;
  const client = new RawClient(harness.port).send(ask('/v1/socket'));
  await client.until(/^HTTP\/1\.1 101 [^]*\r\n\r\nfirst /);
  t.match(client.received, /\r\nupgrade: websocket\r\n/i);
  client.send('ping');
  await client.until(/echo ping k1/);
  t.strictSame(await harness.rows(), []);
  client.socket.end();
  await client.closed;
  let rows = await harness.rows();
  while (rows.length < 1) rows = await harness.rows();
  t.match(rows, [{ decision: 'allow', phase: 'response_body', detail: { upgraded: true, status: 101, bytes_to_upstream: 4 } }]);
  t.match(await exchange(harness.port, ask('/v2/socket')), /^HTTP\/1\.1 403 /);
});

t.test('the certificate can be fetched from the proxy itself', async (t) => {
  const harness = await startHarness(t);
  for (const target of ['http://customhouse.internal/ca.pem', '/ca.pem']) {
    const answer = await exchange(harness.port, `GET ${target} HTTP/1.1\r\nHost: customhouse.internal\r\nConnection: close\r\n\r\n`);
    t.ok(answer.endsWith(harness.ca), target);
  }
  t.match(await exchange(harness.port, 'GET http://customhouse.internal/x HTTP/1.1\r\nHost: customhouse.internal\r\nConnection: close\r\n\r\n'), / 404 /);
  t.match(await harness.rows(), [{ decision: 'allow', detail: { served: 'well_known' } }, {}, {}]);
});

t.test('Node through the proxy, with nothing but a token and the CA', async (t) => {
  const harness = await startHarness(t, { caps: caps(443), send: async () => ({ failure: 'connect_failed', sent: false }) });
  const agent = new Agent({ ca: harness.ca, keepAlive: true, proxyEnv: { HTTPS_PROXY: `http://agent:${await harness.token()}@127.0.0.1:${harness.port}` } });
  const get = (path: string): Promise<number | undefined> => new Promise((resolve, reject) => {
    httpsRequest({ host: 'api.example.com', path, agent }, (response) => resolve(response.resume().statusCode)).on('error', reject).end();
  });
  t.strictSame([await get('/v1/x'), await get('/v2/x')], [502, 403]);
  agent.destroy();
  t.equal((await harness.rows()).length, 2);
});
