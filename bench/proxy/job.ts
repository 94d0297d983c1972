import type { Running } from './child.ts';
import type { Ports, Scenario } from './scenarios.ts';

/** What each proxy is started with. `certPath` and `keyPath`: of the CA it mints from; `upstreamCa`: of the one it trusts. */
export type ProxyFiles = {
  readonly dir: string;
  readonly ports: Ports;
  readonly certPath: string;
  readonly keyPath: string;
  readonly upstreamCa: string;
  readonly redisUrl: string | undefined;
};

/** `closes`: it ends each connection after one answer, and does not say so in the answer. */
export type StartedProxy = Running & { readonly port: number; readonly token: string; readonly closes?: boolean };

export type Target = { readonly proxyPort: number | undefined; readonly token: string; readonly ports: Ports; readonly closes: boolean };
export type Job =
  | { readonly kind: 'saturate' | 'rate'; readonly scenario: Scenario; readonly target: Target; readonly durationMs: number }
  | { readonly kind: 'hold'; readonly target: Target; readonly tunnels: number }
  | { readonly kind: 'let go' };

/** Times in ms, in no order. `cpuMs` of the generator: near the run's length it was the generator that was measured. */
export type LoadResult = { readonly done: number; readonly failed: number; readonly elapsedMs: number; readonly times: readonly number[]; readonly cpuMs: number };
