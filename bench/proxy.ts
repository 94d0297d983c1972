import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAuthority } from '../src/proxy/tls/authority.ts';
import { loadCore, pinned, startScript } from './proxy/child.ts';
import type { Script } from './proxy/child.ts';
import { atRate, idleTunnels, saturate } from './proxy/measure.ts';
import type { Saturated, Subject, Timed } from './proxy/measure.ts';
import { usableProxies } from './proxy/proxies.ts';
import { startRedis } from './proxy/redis.ts';
import { scenarios } from './proxy/scenarios.ts';
import type { Ports, Scenario } from './proxy/scenarios.ts';
import { median, printTable } from './table.ts';

const rounds = Number(process.env['BENCH_ROUNDS'] ?? '3');
/** Node needs some ten thousands of requests until all it runs is compiled. */
const warmMs = 6_000;
const saturateMs = 2_000;
const rateMs = 5_000;
const tunnels = 1_000;

const baseline = 'pass-through';
const middle = <T>(list: readonly T[], value: (item: T) => number): number => median(list.map(value));
const ratio = (value: number, base: number | undefined): string => (base === undefined || !(base > 0) ? '' : (value / base).toFixed(2));

/** In turn, round after round, so that a change of the machine's speed meets all alike. */
async function inTurn<T>(subjects: readonly Subject[], work: (subject: Subject) => Promise<T>): Promise<ReadonlyMap<string, readonly T[]>> {
  const results = new Map<string, T[]>(subjects.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) for (const subject of subjects) results.get(subject.name)?.push(await work(subject));
  return results;
}

function printSaturated(scenario: Scenario, results: ReadonlyMap<string, readonly Saturated[]>): void {
  const base = results.get(baseline);
  const basePerSecond = base === undefined ? undefined : middle(base, ({ perSecond }) => perSecond);
  const baseMicros = base === undefined ? undefined : middle(base, ({ cpuMicros }) => cpuMicros);
  printTable(`${scenario.title}: ${scenario.connections} connections, as fast as they go`, ['', 'requests/s', 'of pass-through', 'µs of its core', 'of pass-through', 'core busy', 'generator busy', 'failed'], [...results].map(([name, list]) => {
    const perSecond = middle(list, (one) => one.perSecond);
    const micros = middle(list, (one) => one.cpuMicros);
    return [name, Math.round(perSecond), ratio(perSecond, basePerSecond), Math.round(micros), ratio(micros, baseMicros), middle(list, ({ busy }) => busy).toFixed(2), middle(list, ({ generatorBusy }) => generatorBusy).toFixed(2), list.reduce((sum, { failed }) => sum + failed, 0)];
  }));
}

function printTimed(scenario: Scenario, results: ReadonlyMap<string, readonly Timed[]>): void {
  const direct = results.get('upstream itself') ?? [];
  const added = (value: number, of: (timed: Timed) => number): string => (value - middle(direct, of)).toFixed(2);
  printTable(`${scenario.title}: ${scenario.ratePerSecond} a second, ms`, ['', 'p50', 'p99', 'added p50', 'added p99', 'failed'], [...results].map(([name, list]) => {
    const p50 = middle(list, (one) => one.p50);
    const p99 = middle(list, (one) => one.p99);
    return [name, p50.toFixed(2), p99.toFixed(2), added(p50, (one) => one.p50), added(p99, (one) => one.p99), list.reduce((sum, { failed }) => sum + failed, 0)];
  }));
}

async function measure(load: Script, subjects: readonly Subject[], ports: Ports, wanted: (name: string) => boolean): Promise<void> {
  const upstream: Subject = { name: 'upstream itself', terminates: true, started: undefined };
  for (const scenario of scenarios.filter(({ name }) => wanted(name))) {
    const able = subjects.filter(({ terminates }) => scenario.tunnel === 'none' || terminates);
    for (const subject of able) await saturate(load, subject, scenario, ports, warmMs);
    printSaturated(scenario, await inTurn([upstream, ...able], (subject) => saturate(load, subject, scenario, ports, saturateMs)));
    if (wanted('rate')) printTimed(scenario, await inTurn([upstream, ...able], (subject) => atRate(load, subject, scenario, ports, rateMs)));
  }
  if (!wanted('idle')) return;
  const rows: [string, string][] = [];
  for (const subject of subjects.filter(({ terminates }) => terminates)) rows.push([subject.name, (await idleTunnels(load, subject, ports, tunnels)).toFixed(1)]);
  printTable(`${tunnels} idle tunnels`, ['', 'resident KiB each'], rows);
}

/**
 * `npm run bench -- proxy [scenario …] [proxy …]`: proxies in front of one upstream, each on a core of its own. Names narrow it down:
 * `plain customhouse` measures one scenario against the pass-through; `rate` and `idle` count as scenarios.
 */
export async function run(): Promise<void> {
  const named = process.argv.slice(3);
  const names = [...scenarios.map(({ name }) => name), 'rate', 'idle'];
  const picked = named.filter((name) => names.includes(name));
  const dir = await mkdtemp(join(tmpdir(), 'customhouse-bench-proxy-'));
  const parts: { stop: () => Promise<void> }[] = [];
  const started = async <T extends { stop: () => Promise<void> }>(starting: Promise<T>): Promise<T> => {
    const part = await starting;
    parts.unshift(part);
    return part;
  };
  try {
    const ca = { certPath: join(dir, 'ca.pem'), keyPath: join(dir, 'ca-key.pem') };
    const upstreamCa = { certPath: join(dir, 'upstream-ca.pem'), keyPath: join(dir, 'upstream-ca-key.pem') };
    for (const paths of [ca, upstreamCa]) await openAuthority({ ...paths, leavesMax: 1, nowMs: Date.now });
    const upstream = await started(startScript('upstream.ts', upstreamCa, loadCore));
    const load = await started(startScript('load.ts', {}, loadCore));
    const redis = await startRedis(dir);
    if (redis !== undefined) parts.unshift(redis);
    const ports = upstream.ready as Ports;
    const subjects: Subject[] = [];
    for (const { name, terminates, start } of usableProxies(named.filter((one) => !names.includes(one)))) {
      subjects.push({ name, terminates, started: await started(start({ dir, ports, ...ca, upstreamCa: upstreamCa.certPath, redisUrl: redis?.url })) });
    }
    console.log(`${pinned ? 'each proxy on a core of its own, the rest on another' : 'no core is reserved'}; budgets in ${redis === undefined ? 'memory' : 'Redis'}`);
    await measure(load, subjects, ports, (name) => picked.length === 0 || picked.includes(name));
  } finally {
    for (const part of parts) await part.stop();
    await rm(dir, { recursive: true, force: true });
  }
}
