import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readDevFile } from '../../src/cli/dev-file.ts';
import type { DevFile } from '../../src/cli/dev-file.ts';
import { freePort } from '../../src/embedded/free-port.ts';
import type { Teardown } from './stack.ts';

const root = join(import.meta.dirname, '../..');

/** Runs the command line as a user does; answers its exit code and output. */
export function runCli(args: readonly string[], env: Record<string, string> = {}, input?: string): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(join(root, 'scripts/customhouse'), args, { cwd: root, env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.stdin.end(input);
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? 1, stdout, stderr }));
  });
}

/** A whole stack as `npm run up` starts it, processes of their own and supervised; stopped and removed when the test ends. */
export async function startUp(t: Teardown, env: Record<string, string> = {}): Promise<{ dataDir: string; dev: () => DevFile; log: (name: string) => Promise<string> }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'customhouse-up-'));
  t.teardown(async () => {
    const down = await runCli(['down', '--data-dir', dataDir]);
    if (down.code !== 0) throw new Error(`down failed: ${down.stderr}`);
    await rm(dataDir, { recursive: true, force: true });
  });
  const up = await runCli(['up', '--detach', '--no-demo', '--port', String(await freePort()), '--data-dir', dataDir], env);
  if (up.code !== 0) throw new Error(`up failed: ${up.stdout}${up.stderr}`);
  return {
    dataDir,
    dev: () => {
      const file = readDevFile(dataDir);
      if (file === undefined) throw new Error('dev.json is gone');
      return file;
    },
    log: (name) => readFile(join(dataDir, 'logs', `${name}.log`), 'utf8'),
  };
}
