import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import t from 'tap';
import { createSampler } from '../../bench/sample-events.ts';
import type { ProcessName } from '../../src/cli/dev-file.ts';
import { runCli, startUp } from '../support/up.ts';

const rows = Number(process.env['SOAK_IMPORT_ROWS'] ?? 2_000_000);
const watched: readonly ProcessName[] = ['api', 'worker', 'proxy'];

function residentMiB(pid: number): number {
  return Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024);
}

function* lines(orgId: string): Generator<string> {
  const next = createSampler({ seed: 9, orgId, startMicros: Date.UTC(2026, 8, 1) * 1000, stepMicros: 1_000_000, workspaces: 500, users: 50 });
  for (let made = 0; made < rows; made += 1) yield `${JSON.stringify(next())}\n`;
}

t.test(`memory of api, worker and proxy stays flat over an import of ${rows} rows`, { timeout: 1_800_000 }, async (t) => {
  const stack = await startUp(t);
  const org = stack.dev().orgs[0];
  const file = join(stack.dataDir, 'rows.ndjson');
  await pipeline(Readable.from(lines(org?.org_id ?? '')), createWriteStream(file));
  const samples: Record<string, number[]> = Object.fromEntries(watched.map((name) => [name, []]));
  const timer = setInterval(() => {
    for (const name of watched) samples[name]?.push(residentMiB(stack.dev().pids[name]));
  }, 1_000);
  const startedAt = performance.now();
  const result = await runCli(['import', file, '--data-dir', stack.dataDir]);
  clearInterval(timer);
  const seconds = (performance.now() - startedAt) / 1000;
  t.equal(result.code, 0, result.stderr.slice(-500));
  t.comment(`${rows} rows in ${seconds.toFixed(0)} s, ${Math.round(rows / seconds)} rows/s; ${result.stdout.trim().slice(-300)}`);
  for (const name of watched) {
    const all = samples[name] ?? [];
    const third = Math.floor(all.length / 3);
    const [early, late] = [Math.max(...all.slice(third, 2 * third)), Math.max(...all.slice(2 * third))];
    t.comment(`${name}: first ${all[0]} MiB, peak of the middle third ${early}, of the last third ${late}`);
    // Flat: the last third peaks no higher than the middle one did, give or take what a garbage collector leaves lying about.
    t.ok(late <= early * 1.25 + 32, `${name} stays flat`);
  }
});
