import type { Command } from 'commander';
import { readSettings } from '../../config/settings.ts';
import type { Settings } from '../../config/settings.ts';

type Role = { stop: () => Promise<void> };

/** Runs a role until SIGTERM or SIGINT, then drains it. A second signal ends the process at once. */
async function runRole(start: (settings: Settings) => Promise<Role>): Promise<void> {
  const signalled = new Promise<void>((resolve) => {
    let count = 0;
    const onSignal = (): void => {
      count += 1;
      if (count > 1) process.exit(1);
      resolve();
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
  const role = await start(readSettings());
  await signalled;
  await role.stop();
  // What is left on the event loop is ours to end: a role whose stop has resolved has nothing more to lose.
  process.exit(0);
}

/** `customhouse api|proxy|worker`: one process of the service, settings from the environment. */
export function registerRoles(program: Command): void {
  program.command('api').description('run the control plane API').action(async () => runRole((await import('../../api/start.ts')).startApi));
  program.command('proxy').description('run the egress proxy').action(async () => runRole((await import('./proxy.ts')).startProxyRole));
  program.command('worker').description('run the workers').action(async () => runRole((await import('../../../workers/worker.ts')).startWorker));
}
