import t from 'tap';
import type { Outage } from './outage.ts';
import { runOutage } from './outage.ts';

for (const outage of ['clickhouse down', 'redis full'] satisfies Outage[]) {
  t.test(`${outage} for a minute at 1,000 rows/s`, { timeout: 600_000 }, async (t) => {
    const result = await runOutage(t, { outage, downMs: 60_000, rowsPerSecond: 1_000 });
    t.comment(JSON.stringify(result));
    t.ok(result.waitedOnDisk > 30_000, `rows waited at their source (${result.waitedOnDisk})`);
    t.equal(result.stored, result.sent);
    t.equal(result.distinct, result.sent);
  });
}
