import type { SecureContext } from 'node:tls';
import type { Dispatcher } from 'undici';
import { Client } from 'undici';
import { createConnector } from './connector.ts';
import type { Destination, SessionSlot } from './connector.ts';

export type PoolLimits = {
  readonly connectionsMax: number;
  readonly waitingMax: number;
  readonly idleMs: number;
  readonly headersTimeoutMs: number;
  readonly bodyIdleTimeoutMs: number;
  readonly headerBytesMax: number;
};

/** A connection that one request has to itself. */
export type Lease = {
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void;
  /** `reusable` false ends the connection, also one that is still being made. Once. */
  release(reusable: boolean): void;
};

/** Undefined when the pool is being destroyed. */
export type Waiter = (lease: Lease | undefined) => void;

export type OriginPool = {
  /** Calls back at once when a connection is free or may be made, otherwise in turn. False when too many wait. */
  acquire(waiter: Waiter): boolean;
  /** Takes back a wait. */
  leave(waiter: Waiter): void;
  /** No connection is kept from now on; running requests and waiting ones are served. */
  retire(): void;
  /** Ends all connections. */
  destroy(): void;
  readonly connections: number;
  readonly waiting: number;
};

type Connection = { readonly client: Client; readonly end: () => void; lease: Lease | undefined };

/**
 * Connections to one destination, each for one request at a time, the last used first. undici's own Pool queues without bound and cannot
 * take back a request that waits; here a request gets its connection before it is given to undici.
 */
export function createOriginPool(destination: Destination, trust: SecureContext, limits: PoolLimits): OriginPool {
  const all = new Set<Connection>();
  const free: Connection[] = [];
  const waiters = new Set<Waiter>();
  const slot: SessionSlot = { session: undefined };
  let retired = false;
  let destroyed = false;

  const drop = (connection: Connection): void => {
    if (!all.delete(connection)) return;
    const at = free.indexOf(connection);
    if (at !== -1) free.splice(at, 1);
    connection.end();
  };

  const open = (): Connection => {
    const connector = createConnector(destination, trust, slot);
    // The address in this URL is never used: the connector dials, and each request carries its own Host.
    const client = new Client('http://upstream.invalid', {
      connect: connector.connect,
      allowH2: false,
      pipelining: 1,
      keepAliveTimeout: limits.idleMs,
      keepAliveMaxTimeout: limits.idleMs,
      headersTimeout: limits.headersTimeoutMs,
      bodyTimeout: limits.bodyIdleTimeoutMs,
      maxHeaderSize: limits.headerBytesMax,
      strictContentLength: true,
    });
    // undici calls handlers from within its own bookkeeping; ending the client there would pull it from under its feet.
    const end = (): void => {
      connector.cancel();
      queueMicrotask(() => void client.destroy());
    };
    const connection: Connection = { client, end, lease: undefined };
    client.on('disconnect', () => {
      if (connection.lease === undefined) drop(connection);
    });
    all.add(connection);
    return connection;
  };

  const give = (connection: Connection, waiter: Waiter): void => {
    const lease: Lease = {
      dispatch: (options, handler) => void connection.client.dispatch(options, handler),
      release(reusable) {
        if (connection.lease !== lease) return;
        connection.lease = undefined;
        const [next] = waiters;
        if (next !== undefined) waiters.delete(next);
        if (!reusable || (retired && next === undefined)) drop(connection);
        else if (next === undefined) free.push(connection);
        if (next !== undefined) give(reusable ? connection : open(), next);
      },
    };
    connection.lease = lease;
    waiter(lease);
  };

  return {
    acquire(waiter) {
      if (destroyed) {
        waiter(undefined);
        return true;
      }
      const connection = free.pop() ?? (all.size < limits.connectionsMax ? open() : undefined);
      if (connection !== undefined) give(connection, waiter);
      else if (waiters.size >= limits.waitingMax) return false;
      else waiters.add(waiter);
      return true;
    },
    leave: (waiter) => void waiters.delete(waiter),
    retire() {
      retired = true;
      for (const connection of [...free]) drop(connection);
    },
    destroy() {
      retired = true;
      destroyed = true;
      const left = [...waiters];
      waiters.clear();
      for (const waiter of left) waiter(undefined);
      for (const connection of [...all]) drop(connection);
    },
    get connections() {
      return all.size;
    },
    get waiting() {
      return waiters.size;
    },
  };
}
