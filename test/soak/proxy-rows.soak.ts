import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { doubled, lostRows, notOneRowEach } from '../proxy/mix/compare-rows.ts';
import { mixRig } from '../proxy/mix/rig.ts';
import { requestsOf, runMix } from '../proxy/mix/run-mix.ts';

const requests = Number(process.env['SOAK_PROXY_REQUESTS'] ?? 20_000);
const kills = Number(process.env['SOAK_PROXY_KILLS'] ?? 12);
const seed = Number(process.env['SEED'] ?? Date.now() % 100_000);
const concurrency = 48;

t.test(`${requests} mixed requests: exactly one row each`, { timeout: 1_800_000 }, async (t) => {
  const { upstreams, proxies } = await mixRig(t);
  const proxy = await proxies.start();
  const startedAt = performance.now();
  const sent = await runMix(proxy, requests, { upstreams, token: proxies.token, seed, concurrency });
  const seconds = (performance.now() - startedAt) / 1000;
  t.strictSame((await proxy.stop()).logged, []);
  const rows = await proxies.rows();
  t.comment(`seed ${seed}: ${requestsOf(sent)} requests on ${sent.connections} connections in ${seconds.toFixed(0)} s, ${upstreams.seen.size} arrived upstream, ${rows.length} rows`);
  t.strictSame(notOneRowEach(rows, sent), []);
  t.strictSame(lostRows(rows, sent, upstreams.seen), []);
});

t.test(`killed ${kills} times in the middle: no row of what was answered or arrived upstream is lost, none is doubled`, { timeout: 1_800_000 }, async (t) => {
  const { upstreams, proxies } = await mixRig(t);
  const runs: Awaited<ReturnType<typeof runMix>>[] = [];
  for (let round = 0; round < kills; round += 1) {
    const proxy = await proxies.start();
    const dead = new AbortController();
    const running = runMix(proxy, requests, { upstreams, token: proxies.token, seed: 100_000 * (round + 1) + seed, concurrency }, () => dead.signal.aborted);
    // At another moment each time.
    await sleep(1_000 + ((seed + round * 137) % 1_000));
    dead.abort();
    await proxy.kill();
    runs.push(await running);
  }
  const rows = await proxies.rows();
  const answered = runs.reduce((sum, { answeredIds }) => sum + answeredIds.size, 0);
  t.comment(`seed ${seed}: ${kills} kills, ${answered} answered, ${upstreams.seen.size} arrived upstream, ${rows.length} rows, ${rows.filter(({ detail }) => detail?.['interrupted'] === true).length} of them interrupted`);
  t.ok(answered > 50 * kills, 'it was at work');
  for (const sent of runs) t.strictSame(lostRows(rows, sent, upstreams.seen), []);
  t.strictSame(doubled(rows), []);
});
