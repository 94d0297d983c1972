import { serveParent, usageOf } from './child.ts';
import { openTunnels } from './connect.ts';
import { createAsker } from './asker.ts';
import type { Job, LoadResult, Target } from './job.ts';
import { host } from './scenarios.ts';
import type { Scenario } from './scenarios.ts';

/** Bytes of one request: absolute form to a proxy, origin form where a tunnel or no proxy is between. */
function bytesOf({ method, path, body, tunnel }: Scenario, { proxyPort, token, ports }: Target): Buffer {
  const port = tunnel === 'none' ? ports.http : ports.https;
  const viaProxy = proxyPort !== undefined && tunnel === 'none';
  const head = [
    `${method} ${viaProxy ? `http://${host}:${port}` : ''}${path} HTTP/1.1`, `Host: ${host}:${port}`, 'User-Agent: bench', 'Accept: */*',
    ...(viaProxy ? [`Proxy-Authorization: Bearer ${token}`] : []),
    ...(body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`]),
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

type Askers = readonly ReturnType<typeof createAsker>[];

/** Every connection asks again as soon as it was answered. */
async function saturate(askers: Askers, durationMs: number, onDone: (ms: number, ok: boolean) => void): Promise<void> {
  const untilMs = performance.now() + durationMs;
  await Promise.all(askers.map((asker) => new Promise<void>((resolve) => {
    const again = (): void => {
      const startedAt = performance.now();
      if (startedAt >= untilMs) return resolve();
      asker.ask((ok) => {
        onDone(performance.now() - startedAt, ok);
        again();
      });
    };
    again();
  })));
}

/** Requests at their times, whatever became of those before; one that finds no free connection waits, and its wait counts. */
async function atRate(askers: Askers, durationMs: number, ratePerSecond: number, onDone: (ms: number, ok: boolean) => void): Promise<void> {
  const free = [...askers];
  const waiting: number[] = [];
  let open = 0;
  const start = (): void => {
    while (free.length > 0 && waiting.length > 0) {
      const startedAt = waiting.shift() as number;
      const asker = free.shift() as Askers[number];
      asker.ask((ok) => {
        open -= 1;
        onDone(performance.now() - startedAt, ok);
        free.push(asker);
        start();
      });
    }
  };
  const beganAt = performance.now();
  const total = Math.round((durationMs / 1000) * ratePerSecond);
  await new Promise<void>((resolve) => {
    let sent = 0;
    const tick = (): void => {
      const now = performance.now();
      for (; sent < total && now >= beganAt + (sent * 1000) / ratePerSecond; sent += 1) {
        open += 1;
        waiting.push(now);
      }
      start();
      if (sent === total && (open === 0 || now > beganAt + durationMs + 5_000)) resolve();
      else setTimeout(tick, 1);
    };
    tick();
  });
}

async function run({ kind, scenario, target, durationMs }: Job & { kind: 'saturate' | 'rate' }): Promise<LoadResult> {
  const bytes = bytesOf(scenario, target);
  const askers = Array.from({ length: scenario.connections }, () => createAsker(bytes, scenario, target));
  const times: number[] = [];
  let failed = 0;
  const onDone = (ms: number, ok: boolean): void => {
    if (ok) times.push(ms);
    else failed += 1;
  };
  const cpuMs = usageOf(process.pid).cpuMs;
  const startedAt = performance.now();
  await (kind === 'saturate' ? saturate(askers, durationMs, onDone) : atRate(askers, durationMs, scenario.ratePerSecond, onDone));
  const elapsedMs = performance.now() - startedAt;
  for (const asker of askers) asker.close();
  return { done: times.length, failed, elapsedMs, times, cpuMs: usageOf(process.pid).cpuMs - cpuMs };
}

let letGo = (): void => undefined;

serveParent(undefined, async () => undefined, async (message) => {
  const job = message as Job;
  if (job.kind === 'let go') return letGo();
  if (job.kind !== 'hold') return run(job);
  const tunnels = await openTunnels(job.target, job.tunnels);
  letGo = () => {
    for (const tunnel of tunnels) tunnel.destroy();
  };
  return { open: tunnels.length };
});
