import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { Client } from 'undici';
import { mixRig } from '../proxy/mix/rig.ts';
import { requestsOf, runMix } from '../proxy/mix/run-mix.ts';
import { openTunnel } from './proxy-tunnel.ts';

const requests = Number(process.env['SOAK_PROXY_REQUESTS'] ?? 200_000);
const tunnels = Number(process.env['SOAK_PROXY_TUNNELS'] ?? 20_000);
const rounds = 60;
const lanes = 16;
/** Requests of each round that are malformed, aborted, upgraded and so on. */
const mixedEach = 60;
const drainMs = 15_000;

type Sample = { readonly residentMiB: number; readonly descriptors: number };

function sampleOf(pid: number): Sample {
  return { residentMiB: Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024), descriptors: readdirSync(`/proc/${pid}/fd`).length };
}

/** Runs `count` times, `lanes` at a time. */
async function times(count: number, work: () => Promise<void>): Promise<void> {
  let left = count;
  await Promise.all(Array.from({ length: lanes }, async () => {
    while (left > 0) {
      left -= 1;
      await work();
    }
  }));
}

t.test(`memory and descriptors of the proxy stay flat over ${requests} requests and ${tunnels} tunnels`, { timeout: 3_000_000, skip: process.platform === 'linux' ? false : 'reads /proc' }, async (t) => {
  const { upstreams, proxies } = await mixRig(t, { confirms: true });
  const proxy = await proxies.start();
  const client = new Client(`http://127.0.0.1:${proxy.port}`);
  const clients = Array.from({ length: lanes }, () => new Client(`http://127.0.0.1:${proxy.port}`));
  const authority = `api.example.com:${upstreams.plainPort}`;
  const headers = { host: authority, 'proxy-authorization': `Bearer ${proxies.token}` };
  let number = 0;
  async function ask(): Promise<void> {
    number += 1;
    const denied = number % 10 === 0;
    const post = number % 5 === 1;
    const { statusCode, body } = await (clients[number % lanes] ?? client).request({ path: `http://${authority}/${denied ? 'v2' : 'v1'}/ok/load`, method: post ? 'POST' : 'GET', headers, body: post ? 'hello' : null });
    await body.dump();
    if (statusCode !== (denied ? 403 : 200)) throw new Error(`status ${statusCode}`);
  }
  const samples: Sample[] = [];
  let mixed = 0;
  const startedAt = performance.now();
  for (let round = 0; round < rounds; round += 1) {
    await times(Math.ceil(requests / rounds), ask);
    await times(Math.ceil(tunnels / rounds), () => openTunnel(proxy, proxies.token, 'api.example.com', upstreams.securePort));
    mixed += requestsOf(await runMix(proxy, mixedEach, { upstreams, token: proxies.token, seed: round + 1, concurrency: lanes }));
    samples.push(sampleOf(proxy.pid));
  }
  const seconds = (performance.now() - startedAt) / 1000;
  for (const each of [client, ...clients]) await each.close();
  const openBefore = samples.at(-1)?.descriptors;
  await sleep(drainMs);
  const drained = sampleOf(proxy.pid);
  const { logged, confirmedRows } = await proxy.stop();
  t.strictSame(logged, []);
  t.equal(confirmedRows, number + rounds * Math.ceil(tunnels / rounds) + mixed, 'rows = requests');
  t.comment(`${confirmedRows} rows in ${seconds.toFixed(0)} s; descriptors at the end ${openBefore}, ${drainMs / 1000} s after the clients closed ${drained.descriptors}, resident then ${drained.residentMiB} MiB`);
  const third = Math.floor(rounds / 3);
  for (const name of ['residentMiB', 'descriptors'] as const) {
    const all = samples.map((sample) => sample[name]);
    const peaks = [0, 1, 2].map((part) => Math.max(...all.slice(part * third, (part + 1) * third)));
    t.comment(`${name}: first ${all[0]}, peaks of the thirds ${peaks.join(', ')}, last ${all.at(-1)}`);
    const [, early = 0, late = 0] = peaks;
    // Flat: the last third peaks no higher than the middle one did, give or take what a garbage collector leaves lying about.
    t.ok(late <= early * 1.1 + 16, `${name} stays flat`);
  }
});
