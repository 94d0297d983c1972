import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import t from 'tap';
import { decode, encode } from 'dns-packet';
import { createLocalJWKSet } from 'jose';
import { generateSigningJwk, importSigningKey, publicKeySet } from '../../src/identity/signing-key.ts';
import { signCapabilityToken, verifyCapabilityToken } from '../../src/identity/tokens.ts';
import { readDnsServers } from '../../src/proxy/dns/dns-servers.ts';
import { createSyntheticAddresses, syntheticDefaults } from '../../src/proxy/dns/synthetic-addresses.ts';
import type { VerifyCapability } from '../../src/proxy/identify.ts';
import { readSourceTokens } from '../../src/proxy/source-tokens.ts';
import { addressesIn, askTcp, named } from './dns/dns-harness.ts';
import { startUpstream } from './local-upstream.ts';
import { orgId, policyOf, startHarness, workspaceId, workspaceOf } from './proxy-harness.ts';

const caps = '- name: demo\n  type: http\n  allow:\n    - {name: api, domains: ["*.example.com"], methods: [GET], paths: ["/**"]}\n';
const jwk = await generateSigningJwk('EdDSA');
const keys = createLocalJWKSet(publicKeySet([jwk]));
const token = await signCapabilityToken({ orgId, workspaceId }, await importSigningKey(jwk), { expiresInS: 600 });
const verify: VerifyCapability = (text) => verifyCapabilityToken(text, { keys: (header, input) => keys(header, input) }).catch(() => undefined);

/** A recursive server that knows these addresses; it keeps what it was asked, and answers nothing else. */
async function startResolver(t: { teardown(fn: () => void): unknown }, known: Readonly<Record<string, string>>): Promise<{ readonly address: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  socket.on('message', (packet, { port, address }) => {
    const { id, questions } = decode(packet);
    const [question] = questions ?? [];
    if (question === undefined) return;
    const name = question.name.toLowerCase();
    asked.push(name);
    const data = known[name];
    socket.send(encode({ type: 'response', id: id ?? 0, questions: [question], answers: data === undefined ? [] : [{ type: 'A', name: question.name, ttl: 20, data }] }), port, address);
  });
  t.teardown(() => socket.close());
  return { address: `127.0.0.1:${socket.address().port}`, asked };
}

function clientOf(port: number): Resolver {
  const client = new Resolver({ tries: 2 });
  client.setServers([`127.0.0.1:${port}`]);
  return client;
}

t.test('DNS, then the connection: an admitted name has one row of its lookup, a denied one that of its request', async (t) => {
  const resolver = await startResolver(t, { 'api.example.com': '93.184.216.34', 'inside.example.com': '10.1.2.3', 'allowed.example.com': '10.1.2.3', 'loop.example.com': '127.100.0.9' });
  const addresses = createSyntheticAddresses({ ...syntheticDefaults, ipv4: { first: '127.100.0.0', prefixBits: 16 } });
  const harness = await startHarness(t, {
    caps, verify, addresses, env: { PROXY_ALLOW_PRIVATE_UPSTREAMS: 'allowed.example.com,127.0.0.0/8' },
    send: async () => ({ failure: 'connect_failed', sent: false }),
    settings: { host: '0.0.0.0', proxyTransparentPort: 0, proxyDnsPort: 0, proxySources: `127.0.0.1=${token}`, proxyDnsServers: resolver.address },
  });
  const { dnsPort = 0, transparentPort = 0 } = harness.proxy;
  const client = clientOf(dnsPort);
  const resolve = async (name: string): Promise<string> => (await client.resolve4(name))[0] ?? '';
  const call = async (host: string, address: string): Promise<number | undefined> => {
    const sent = request({ host: address, port: transparentPort, localAddress: '127.0.0.1', servername: host, headers: { host }, ca: harness.ca, agent: false }).end();
    const [answer] = await once(sent, 'response') as [IncomingMessage];
    answer.resume();
    await once(answer, 'close');
    return answer.statusCode;
  };

  t.equal(await resolve('api.example.com'), '93.184.216.34');
  t.strictSame(addressesIn((await askTcp(dnsPort, named('api.example.com')))[0]), ['93.184.216.34'], 'over TCP');
  const given = await resolve('denied.test');
  t.equal(addresses.owns(given), true);
  t.equal(await call('denied.test', given), 403);
  t.equal(addresses.owns(await resolve('inside.example.com')), true, 'an address that would not be dialled is not given out');
  t.equal(await resolve('allowed.example.com'), '10.1.2.3', 'a private one that the settings let through');
  t.not(await resolve('loop.example.com'), '127.100.0.9', 'an address of the pool is never an answer');
  await t.rejects(client.resolve6('denied.test'), { code: 'ENODATA' }, 'no IPv6 where nothing listens on it');
  t.notOk(resolver.asked.includes('denied.test'), 'a denied name does not leave the proxy');

  const metrics = await harness.proxy.metrics.registry.metrics();
  t.match(metrics, /^customhouse_proxy_dns_synthetic_names 3$/m);
  t.match(metrics, /^customhouse_proxy_dns_open_queries 0$/m);
  t.strictSame((await harness.rows()).map(({ policy_type: type, phase, destination, decision, reason, workspace_id: workspace }) => [type, phase, destination, decision, reason, workspace]), [
    ['dns', 'dns', 'api.example.com', 'allow', undefined, workspaceId],
    ['dns', 'dns', 'api.example.com', 'allow', undefined, workspaceId],
    ['http', 'request_headers', 'denied.test', 'deny', 'no_match', workspaceId],
    ['dns', 'dns', 'inside.example.com', 'allow', undefined, workspaceId],
    ['dns', 'dns', 'allowed.example.com', 'allow', undefined, workspaceId],
    ['dns', 'dns', 'loop.example.com', 'allow', undefined, workspaceId],
  ]);
  await harness.proxy.stop(1000);
  t.equal(await askTcp(dnsPort, named('api.example.com')).catch((error: NodeJS.ErrnoException) => error.code), 'ECONNREFUSED', 'stopped with the proxy');
});

t.test('an address that nobody is known for, or whose token or workspace is not good, is refused; trouble is SERVFAIL', async (t) => {
  const resolver = await startResolver(t, { 'api.example.com': '93.184.216.34' });
  const gone = new AbortController();
  gone.abort();
  const base = { caps, verify, settings: { proxyDnsPort: 0, proxySources: `127.0.0.1=${token}`, proxyDnsServers: resolver.address } };
  for (const [why, options, answer] of [
    ['known', base, ['93.184.216.34']],
    ['another address', { ...base, settings: { ...base.settings, proxySources: `10.0.0.1=${token}` } }, 'EREFUSED'],
    ['no sources', { ...base, settings: { ...base.settings, proxySources: '' } }, 'EREFUSED'],
    ['a bad token', { ...base, settings: { ...base.settings, proxySources: '127.0.0.1=nonsense' } }, 'EREFUSED'],
    ['no such workspace', { ...base, activate: async () => undefined }, 'EREFUSED'],
    ['a workspace that has gone', { ...base, activate: async () => workspaceOf({ policy: policyOf(caps), gone: gone.signal }) }, 'EREFUSED'],
    ['control plane away', { ...base, activate: () => Promise.reject(new Error('away')) }, 'ESERVFAIL'],
  ] as const) {
    const harness = await startHarness(t, options);
    t.strictSame(await clientOf(harness.proxy.dnsPort ?? 0).resolve4('api.example.com').catch((error: NodeJS.ErrnoException) => error.code), answer, why);
    t.equal((await harness.rows()).length, Array.isArray(answer) ? 1 : 0, why);
  }
});

t.test('synthetic addresses are never dialled, also where private ones are', async (t) => {
  // Every name is at 127.0.0.1 here.
  const upstream = await startUpstream(t);
  const host = `api.example.com:${upstream.port}`;
  for (const [first, status, hits] of [['127.0.0.0', 403, 0], ['127.100.0.0', 200, 1]] as const) {
    const addresses = createSyntheticAddresses({ ...syntheticDefaults, ipv4: { first, prefixBits: 16 } });
    const harness = await startHarness(t, { caps: caps.replace('"*.example.com"', `"${host}"`).replace('paths', 'allow_insecure: true, paths'), verify, addresses, env: { PROXY_ALLOW_PRIVATE_UPSTREAMS: '*' } });
    const call = get({ host: '127.0.0.1', port: harness.port, path: `http://${host}/`, headers: { host, 'x-capability-token': token }, agent: false });
    const [response] = await once(call, 'response') as [IncomingMessage];
    response.resume();
    await once(response, 'close');
    t.equal(response.statusCode, status, first);
    t.equal(upstream.hits.length, hits);
    t.equal(((await harness.rows())[0]?.detail as { refused?: string } | undefined)?.refused, hits === 0 ? 'address_refused' : undefined);
  }
});

t.test('stopping: a lookup whose server does not answer is given up, with its row', async (t) => {
  const silent = createSocket('udp4');
  silent.bind(0, '127.0.0.1');
  await once(silent, 'listening');
  t.teardown(() => void silent.close());
  const harness = await startHarness(t, { caps, verify, settings: { proxyDnsPort: 0, proxySources: `127.0.0.1=${token}`, proxyDnsServers: `127.0.0.1:${silent.address().port}` } });
  const asked = once(silent, 'message');
  const answer = clientOf(harness.proxy.dnsPort ?? 0).resolve4('api.example.com').catch((error: NodeJS.ErrnoException) => error.code);
  await asked;
  await harness.proxy.stop(1000);
  t.match((await harness.rows())[0], { destination: 'api.example.com', phase: 'dns', detail: { rcode: 'SERVFAIL', failure: 'stopped' } });
  t.not(await answer, undefined);
});

t.test('both are off without a port', async (t) => {
  const { proxy } = await startHarness(t);
  t.strictSame([proxy.transparentPort, proxy.dnsPort], [undefined, undefined]);
});

t.test('settings: sources and servers', async (t) => {
  const sources = readSourceTokens(' 10.0.0.1=aaa.bbb==, 2001:DB8::0:1=ccc ,');
  t.equal(sources.size, 2);
  for (const [address, expected] of [['10.0.0.1', 'aaa.bbb=='], ['::ffff:10.0.0.1', 'aaa.bbb=='], ['2001:db8::1', 'ccc'], ['10.0.0.2', undefined], ['', undefined], [undefined, undefined], ['10.0.0.1\n', undefined]] as const) {
    t.equal(sources.tokenOf(address)?.reveal(), expected, String(address));
  }
  t.equal(`${JSON.stringify(sources)}${String(sources.tokenOf('10.0.0.1'))}`.includes('aaa'), false);
  for (const text of ['10.0.0.1', '10.0.0.1=', 'host=hunter2', '10.0.0.1=hunter 2', '=hunter2', '010.0.0.1=hunter2', '10.0.0.1=hunter2,::ffff:10.0.0.1=hunter3']) {
    t.throws(() => readSourceTokens(text), { message: /^PROXY_SOURCES: (?!.*hunter)/ }, text);
  }
  t.strictSame(readDnsServers('10.0.0.2, 10.0.0.3:5353,::1,[::1]:54'), [{ address: '10.0.0.2', port: 53 }, { address: '10.0.0.3', port: 5353 }, { address: '::1', port: 53 }, { address: '::1', port: 54 }]);
  t.strictSame(readDnsServers('', () => ['fe80::1%eth0', '127.0.0.53:5300']), [{ address: 'fe80::1%eth0', port: 53 }, { address: '127.0.0.53', port: 5300 }]);
  for (const text of ['dns.example', '10.0.0.2:0', '10.0.0.2;10.0.0.3', 'udp://10.0.0.2']) t.throws(() => readDnsServers(text), { message: /^PROXY_DNS_SERVERS: / }, text);
  t.throws(() => readDnsServers(' ', () => []), { message: /no DNS server/ });
});
