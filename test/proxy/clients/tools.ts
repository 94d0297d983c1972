import { spawn, spawnSync } from 'node:child_process';

export type Ran = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

const timeoutMs = 60_000;
const outputCharactersMax = 1_048_576;

/** Why the test of a tool is skipped; false when the tool is there. */
export function missing(command: string, args: readonly string[] = ['--version']): string | false {
  return spawnSync(command, args, { stdio: 'ignore', timeout: timeoutMs }).status === 0 ? false : `${command} is not installed`;
}

/** Runs a tool with exactly this environment, beside PATH: settings of the machine must not help it. Never rejects for an exit code. */
export function runTool(command: string, args: readonly string[], env: Readonly<Record<string, string>>, cwd: string = process.cwd()): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: { PATH: process.env['PATH'] ?? '', ...env }, stdio: ['ignore', 'pipe', 'pipe'], timeout: timeoutMs, killSignal: 'SIGKILL' });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        if (output[name].length < outputCharactersMax) output[name] += text;
      });
    }
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...output }));
  });
}
