import t from 'tap';
import type { Outage } from './outage.ts';
import { runOutage } from './outage.ts';

// The short version of outage.soak.ts.
for (const outage of ['clickhouse down', 'redis full'] satisfies Outage[]) {
  t.test(`${outage} for some seconds: rows wait on disk, then all are stored once`, { timeout: 240_000 }, async (t) => {
    const result = await runOutage(t, { outage, downMs: 4_000, rowsPerSecond: 1_000 });
    t.ok(result.waitedOnDisk > 1_500, `rows waited at their source (${result.waitedOnDisk})`);
    t.equal(result.stored, result.sent, 'stored as many as sent');
    t.equal(result.distinct, result.sent, 'each of them once');
  });
}
