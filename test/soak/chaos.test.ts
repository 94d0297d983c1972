import t from 'tap';
import { startUp } from '../support/up.ts';
import { differences, runChaos } from './chaos.ts';

// The short version of chaos.soak.ts: the same run with fewer rows and kills.
t.test('no row is lost or doubled while api, worker, Redis and ClickHouse are killed and Redis is wiped', { timeout: 300_000 }, async (t) => {
  const stack = await startUp(t);
  const result = await runChaos(stack, { rows: 10_000, rowsPerSecond: 1_000, kills: 6, killEveryMs: 1_500, seed: 11 });
  t.equal(result.wipes, 1, 'Redis was wiped once');
  t.ok(Object.values(result.kills).reduce((sum, count) => sum + count, 0) >= 6, `kills: ${JSON.stringify(result.kills)}`);
  t.same(differences(result), [], 'sent, stored and streamed ids are the same, each once');
});
