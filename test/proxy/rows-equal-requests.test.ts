import t from 'tap';
import { doubled, lostRows, notOneRowEach } from './mix/compare-rows.ts';
import { mixRig } from './mix/rig.ts';
import { requestsOf, runMix } from './mix/run-mix.ts';

// The short version of test/soak/proxy-rows.soak.ts.
t.test('600 mixed requests: exactly one row each', async (t) => {
  const { upstreams, proxies } = await mixRig(t);
  const proxy = await proxies.start();
  const sent = await runMix(proxy, 600, { upstreams, token: proxies.token, seed: 11, concurrency: 24 });
  t.strictSame((await proxy.stop()).logged, []);
  const rows = await proxies.rows();
  t.ok(requestsOf(sent) >= 600);
  t.strictSame(notOneRowEach(rows, sent), []);
  t.strictSame(lostRows(rows, sent, upstreams.seen), []);
});

t.test('killed in the middle and started again on the same journal: no row is lost, none is doubled', async (t) => {
  const { upstreams, proxies } = await mixRig(t);
  const options = { upstreams, token: proxies.token, concurrency: 24 };
  const first = await proxies.start();
  let killed: Promise<void> | undefined;
  const before = await runMix(first, 10_000, { ...options, seed: 12 }, () => {
    if (upstreams.seen.size > 150) killed ??= first.kill();
    return killed !== undefined;
  });
  await killed;
  const second = await proxies.start();
  const after = await runMix(second, 200, { ...options, seed: 13 });
  t.strictSame((await second.stop()).logged, []);
  const rows = await proxies.rows();
  t.ok(before.answeredIds.size > 100, 'some were answered before');
  t.strictSame(lostRows(rows, before, upstreams.seen), []);
  t.strictSame(doubled(rows), []);
  t.strictSame(notOneRowEach(rows.filter(({ path }) => path !== undefined && after.paths.has(path)), { ...after, pathless: new Map() }), []);
  t.ok(rows.some(({ detail }) => detail?.['interrupted'] === true), 'what was let through when it died says so');
});
