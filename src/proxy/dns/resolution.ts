import type { AddressType } from './wire.ts';

/** What a name resolved to. `addresses` are all of the type asked for, in the text form of `Host`, without repeats; empty for "none". */
export type Resolution = { readonly rcode: 'NOERROR' | 'NXDOMAIN'; readonly addresses: readonly string[]; readonly ttlSeconds: number };

/**
 * `overloaded`: too many lookups at once, nothing was sent. `timeout`, `unreachable`, `malformed`, `servfail`: what the last upstream server
 * did; every other rcode than NOERROR and NXDOMAIN is `servfail`. `stopped`: the resolver was stopped.
 */
export type ResolveFailure = 'overloaded' | 'timeout' | 'unreachable' | 'malformed' | 'servfail' | 'stopped';

export class ResolveError extends Error {
  readonly failure: ResolveFailure;

  constructor(failure: ResolveFailure, options?: ErrorOptions) {
    super(`name not resolved: ${failure}`, options);
    this.name = 'ResolveError';
    this.failure = failure;
  }
}

/** Resolves a canonical name (lower case, no trailing dot). Rejects with ResolveError. */
export type Resolve = (name: string, type: AddressType) => Promise<Resolution>;
