import { isInstalled, proxyCore, startScript } from './child.ts';
import { startMitmdump, startSquid, startTinyproxy } from './competitors.ts';
import type { ProxyFiles, StartedProxy } from './job.ts';

export type ProxyKind = {
  readonly name: string;
  /** Program that must be installed; undefined for those of this repository. */
  readonly program: string | undefined;
  /** Whether it looks into tunnels: one that only relays bytes does another, smaller thing. */
  readonly terminates: boolean;
  readonly start: (files: ProxyFiles) => Promise<StartedProxy>;
};

async function startOwn(script: string, files: ProxyFiles): Promise<StartedProxy> {
  // For profiles: BENCH_NODE_ARGS="--cpu-prof --cpu-prof-dir=…".
  const nodeArgs = (process.env['BENCH_NODE_ARGS'] ?? '').split(' ').filter((arg) => arg !== '');
  const started = await startScript(script, files, proxyCore, nodeArgs);
  const { port, token = 'none' } = started.ready as { port: number; token?: string };
  return { pid: started.pid, stop: started.stop, port, token };
}

export const proxyKinds: readonly ProxyKind[] = [
  { name: 'pass-through', program: undefined, terminates: true, start: (files) => startOwn('pass-through.ts', files) },
  { name: 'customhouse', program: undefined, terminates: true, start: (files) => startOwn('our-proxy.ts', files) },
  { name: 'squid', program: 'squid', terminates: true, start: startSquid },
  { name: 'tinyproxy', program: 'tinyproxy', terminates: false, start: startTinyproxy },
  { name: 'mitmdump', program: 'mitmdump', terminates: true, start: startMitmdump },
];

/** Those that can be started here and were asked for; says a word on each that is left out. */
export function usableProxies(wanted: readonly string[]): readonly ProxyKind[] {
  return proxyKinds.filter(({ name, program }) => {
    if (wanted.length > 0 && name !== 'pass-through' && !wanted.includes(name)) return false;
    if (program === undefined || isInstalled(program)) return true;
    console.log(`${name}: not installed, skipped`);
    return false;
  });
}
