import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

// What `npm test` runs: types, lint, layers, then every test. The last line, `N passed, N failed`, holds tap's own counts.

const root = join(import.meta.dirname, '..');
const env = { ...process.env, PATH: `${join(root, 'node_modules/.bin')}${delimiter}${process.env['PATH'] ?? ''}`, FORCE_COLOR: process.stdout.isTTY ? '1' : '0' };

function run(name: string, command: string, args: string[]): Promise<number> {
  const startedAt = Date.now();
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] });
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      console.log(`${code === 0 ? 'ok' : 'FAILED'}: ${name} (${((Date.now() - startedAt) / 1000).toFixed(1)} s)`);
      resolve(code ?? (signal === null ? 1 : 128));
    });
  });
}

/** tap closes its stream with `# { total: 12, pass: 11, fail: 1 }`, leaving out what is zero; the last such line at column 0 is the sum. */
function countsOf(tapOutput: string): { passed: number; failed: number } {
  const sums = [...tapOutput.matchAll(/^# \{ total: .*\}$/gm)].at(-1)?.[0];
  const count = (name: string): number => Number(new RegExp(`\\b${name}: (\\d+)`).exec(sums ?? '')?.[1] ?? 0);
  return { passed: count('pass'), failed: count('fail') };
}

/** Every failed assertion with its file and diagnosis: the reporter may have been cut off, and in CI nobody can run it again to look. */
function failuresOf(tapOutput: string): string[] {
  const failures: string[] = [];
  let file = '';
  let depth = -1;
  for (const line of tapOutput.split('\n')) {
    file = /^# Subtest: (.*)$/.exec(line)?.[1] ?? file;
    const indent = line.search(/\S/);
    if (/^\s*not ok /.test(line)) {
      failures.push(`${file}: ${line.trim()}`);
      depth = indent;
    } else if (depth >= 0 && indent > depth) failures.push(line);
    else if (line.trim() !== '') depth = -1;
  }
  return failures.slice(0, 400);
}

const only = process.argv.slice(2);
const checks: number[] = only.length > 0 ? [] : await Promise.all([run('types', 'tsc', ['--noEmit']), run('layers', 'depcruise', ['--config', '.dependency-cruiser.cjs', 'src', 'workers', 'bench'])]);
if (only.length === 0) checks.push(await run('lint', 'eslint', ['--max-warnings', '0', '.']));

const dir = mkdtempSync(join(tmpdir(), 'customhouse-check-'));
const rawFile = join(dir, 'all.tap');
await run('test build', 'tap', ['build']);
const tests = await run('tests', 'tap', ['run', '--reporter=min', `--output-file=${rawFile}`, ...only]);
const tapOutput = readFileSync(rawFile, 'utf8');
const { passed, failed } = countsOf(tapOutput);
if (tests !== 0) console.log(`\nwhat failed:\n${failuresOf(tapOutput).join('\n')}\n`);
rmSync(dir, { recursive: true, force: true });

const brokenChecks = checks.filter((code) => code !== 0).length;
if (brokenChecks > 0) console.log(`${brokenChecks} of types, layers, lint failed`);
if (passed === 0 && tests === 0) console.log('no test was run');
// A run that tap calls failed without a failed assertion (a time-out, a crash) still counts as one failure.
console.log(`${passed} passed, ${Math.max(failed, tests === 0 ? 0 : 1) + brokenChecks} failed`);
process.exitCode = tests === 0 && brokenChecks === 0 && passed > 0 ? 0 : 1;
