import t from 'tap';
import { startUp } from '../support/up.ts';
import { differences, runChaos } from './chaos.ts';

t.test('100,000 rows, 32 kills, one wiped Redis: nothing lost, nothing doubled, in the table and on the stream', { timeout: 1_800_000 }, async (t) => {
  const stack = await startUp(t);
  const result = await runChaos(stack, { rows: 100_000, rowsPerSecond: 1_000, kills: 32, killEveryMs: 3_000, seed: Number(process.env['SEED'] ?? Date.now() % 100_000) });
  t.comment(`kills ${JSON.stringify(result.kills)}, wipes ${result.wipes}, stored ${result.stored.size}, streamed ${result.streamed.size}`);
  t.equal(result.sent.size, 100_000);
  t.equal(result.wipes, 1);
  t.ok(Object.values(result.kills).reduce((sum, count) => sum + count, 0) >= 30, 'at least 30 kills');
  t.same(differences(result), []);
});
