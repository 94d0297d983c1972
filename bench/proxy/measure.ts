import { setTimeout as sleep } from 'node:timers/promises';
import { median, quantile } from '../table.ts';
import { usageOf } from './child.ts';
import type { Script } from './child.ts';
import type { Job, LoadResult, StartedProxy, Target } from './job.ts';
import type { Ports, Scenario } from './scenarios.ts';

/** One proxy under test, with the load generator that asks it. `started` undefined: the upstream itself, asked directly. */
export type Subject = { readonly name: string; readonly terminates: boolean; readonly started: StartedProxy | undefined };

/** `cpuMicros` of the proxy for one request; `busy`: share of the run for which its core worked, 1 when it is what was measured. */
export type Saturated = { readonly perSecond: number; readonly cpuMicros: number; readonly busy: number; readonly generatorBusy: number; readonly failed: number };
export type Timed = { readonly p50: number; readonly p99: number; readonly failed: number };

function targetOf({ started }: Subject, ports: Ports): Target {
  return { proxyPort: started?.port, token: started?.token ?? 'none', ports, closes: started?.closes ?? false };
}

async function run(load: Script, job: Job): Promise<LoadResult> {
  return await load.ask(job) as LoadResult;
}

export async function saturate(load: Script, subject: Subject, scenario: Scenario, ports: Ports, durationMs: number): Promise<Saturated> {
  const pid = subject.started?.pid;
  const before = pid === undefined ? 0 : usageOf(pid).cpuMs;
  const { done, failed, elapsedMs, cpuMs } = await run(load, { kind: 'saturate', scenario, target: targetOf(subject, ports), durationMs });
  const usedMs = pid === undefined ? 0 : usageOf(pid).cpuMs - before;
  return { perSecond: (done * 1000) / elapsedMs, cpuMicros: (usedMs * 1000) / Math.max(1, done), busy: usedMs / elapsedMs, generatorBusy: cpuMs / elapsedMs, failed };
}

export async function atRate(load: Script, subject: Subject, scenario: Scenario, ports: Ports, durationMs: number): Promise<Timed> {
  const { times, failed } = await run(load, { kind: 'rate', scenario, target: targetOf(subject, ports), durationMs });
  return { p50: median(times), p99: quantile(times, 0.99), failed };
}

const settleMs = 1500;

/** Resident KiB of each of so many idle tunnels. Some are opened and closed before, so that what a proxy takes once is not counted. */
export async function idleTunnels(load: Script, subject: Subject, ports: Ports, tunnels: number): Promise<number> {
  const { started } = subject;
  if (started === undefined) return 0;
  const hold = async (count: number): Promise<void> => {
    await load.ask({ kind: 'hold', target: targetOf(subject, ports), tunnels: count } satisfies Job);
    await sleep(settleMs);
  };
  const letGo = async (): Promise<void> => {
    await load.ask({ kind: 'let go' } satisfies Job);
    await sleep(settleMs);
  };
  await hold(Math.ceil(tunnels / 4));
  await letGo();
  const before = usageOf(started.pid).residentKiB;
  await hold(tunnels);
  const after = usageOf(started.pid).residentKiB;
  await letGo();
  return (after - before) / tunnels;
}
