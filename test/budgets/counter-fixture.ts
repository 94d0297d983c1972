import type { Counter, Scope } from '../../src/policy/model.ts';

export function scope(max: bigint | number, ttlMs?: number): Scope {
  return { path: 'scope', position: undefined, max: BigInt(max), ttlMs };
}

/** A counter that measures requests and enforces nothing, with what a test says about it. */
export function counter(name: string, given: Partial<Counter> = {}): Counter {
  return {
    path: name, position: undefined, capability: 'web', name, source: 'request.count', value: undefined, requiresBody: false, framing: '', format: '', encoding: '',
    sseEvent: undefined, statusCodes: [], accumulator: undefined, reservePerRequest: 0n, failureCharge: 0n, maxConcurrent: 0, workspace: undefined, task: undefined,
    terminator: undefined, ...given,
  };
}
