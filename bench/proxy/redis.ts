import { isInstalled, loadCore, startProgram } from './child.ts';
import { accepts, freePort } from './free-port.ts';
import { host } from './scenarios.ts';

/** A Redis for the budgets, as in production, that keeps nothing on disk; undefined where there is none. */
export async function startRedis(dir: string): Promise<{ readonly url: string; readonly stop: () => Promise<void> } | undefined> {
  if (!isInstalled('redis-server')) return undefined;
  const port = await freePort();
  const { stop } = await startProgram('redis-server', ['--port', String(port), '--bind', host, '--save', '', '--appendonly', 'no', '--dir', dir], () => accepts(port), loadCore);
  return { url: `redis://${host}:${port}`, stop };
}
