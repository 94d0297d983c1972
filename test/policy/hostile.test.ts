import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { problemsMax } from '../../src/policy/problem.ts';
import type { HostileResult } from './hostile/case.ts';
import { groups } from './hostile/groups.ts';

const run = promisify(execFile);
const child = fileURLToPath(new URL('hostile/child.ts', import.meta.url));
/** For a loaded machine; the times themselves are printed and not judged. */
const timeoutMs = 120_000;

for (const [group, cases] of Object.entries(groups)) {
  t.test(`hostile ${group}: a clear problem, in bounded memory`, async (t) => {
    const { stdout } = await run(process.execPath, ['--max-old-space-size=256', child, group], { timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: 64 * 2 ** 20 });
    const results = new Map(stdout.trim().split('\n').map((line) => JSON.parse(line) as HostileResult).map((result) => [result.name, result]));
    for (const { name, expects } of cases) {
      const result = results.get(name);
      if (result === undefined) { t.fail(`${name}: no result`); continue; }
      const expected: readonly string[] = expects;
      t.ok(expected.includes('any') || result.slugs.some((slug) => expected.includes(slug)), `${name}: ${result.slugs.join(', ')}`, { expected, result });
      t.ok(result.slugs[0] === 'valid' || result.problems > 0, `${name}: a policy or a problem`);
      t.ok(result.positioned, `${name}: problems have lines`);
      t.ok(result.problems <= problemsMax + 1, `${name}: a bounded number of problems`);
    }
    const slowest = [...results.values()].sort((a, b) => b.ms - a.ms).slice(0, 3);
    t.comment(`${group}: ${results.size} cases; slowest ${slowest.map(({ name, ms }) => `${name} ${ms.toFixed(0)} ms`).join(', ')}; memory at most ${Math.max(...[...results.values()].map(({ memoryMiB }) => memoryMiB)).toFixed(0)} MiB`);
  });
}
