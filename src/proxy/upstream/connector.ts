import type { LookupFunction } from 'node:net';
import { connect as connectTcp, isIP } from 'node:net';
import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { checkServerIdentity, connect as connectTls } from 'node:tls';
import type { buildConnector } from 'undici';
import { UpstreamError } from './failures.ts';

/** One origin at the addresses that were vetted for it. */
export type Destination = { readonly scheme: 'http' | 'https'; readonly host: string; readonly port: number; readonly addresses: readonly string[] };

/** TLS session of the last connection to one destination, for the next. */
export type SessionSlot = { session: Buffer | undefined };

export type Connector = {
  readonly connect: buildConnector.connector;
  /** Ends a connection that is being made. */
  cancel(): void;
};

const probeIntervalMs = 60_000;
const addressAttemptMs = 1000;

/**
 * Connects to the vetted addresses, never to a name: nothing resolves again between the check and the connection (attacks 41). TLS is
 * verified against the host of the policy, not against what is dialled or what a header says (attacks 104). HTTP/1.1 only.
 */
export function createConnector({ scheme, host, port, addresses }: Destination, trust: SecureContext, slot: SessionSlot): Connector {
  let pending: Socket | undefined;
  const [first = '', ...others] = addresses;
  // `lookup` is asked only for a name. The name is reserved (RFC 6761): should it ever reach a resolver, it has no address.
  const pinned: LookupFunction = (_name, options, done) => {
    const all = addresses.map((address) => ({ address, family: isIP(address) }));
    if (options.all === true) done(null, all);
    else done(null, first, isIP(first));
  };
  const where = others.length === 0
    ? { host: first, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: probeIntervalMs }
    : { host: 'pinned.invalid', port, lookup: pinned, autoSelectFamily: true, autoSelectFamilyAttemptTimeout: addressAttemptMs, noDelay: true, keepAlive: true, keepAliveInitialDelay: probeIntervalMs };

  const open = (): Socket => {
    if (scheme === 'http') return connectTcp(where);
    const socket = connectTls({
      ...where,
      secureContext: trust,
      rejectUnauthorized: true,
      servername: isIP(host) === 0 ? host : '',
      checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate),
      ALPNProtocols: ['http/1.1'],
      ...(slot.session === undefined ? {} : { session: slot.session }),
    });
    socket.on('session', (session) => {
      slot.session = session;
    });
    return socket;
  };

  return {
    connect(_options, callback) {
      const socket = open();
      pending = socket;
      let reached = false;
      const onError = (): void => {
        pending = undefined;
        // A session that a server no longer takes must not be tried for ever.
        slot.session = undefined;
        callback(new UpstreamError(reached ? 'tls_failed' : 'connect_failed'), null);
      };
      // Only the first error is told: the callback of a connection may be called once. Later ones are of a socket nobody has.
      socket.once('error', onError);
      socket.once('connect', () => {
        reached = true;
      });
      socket.once(scheme === 'https' ? 'secureConnect' : 'connect', () => {
        pending = undefined;
        socket.off('error', onError);
        callback(null, socket);
      });
    },
    cancel() {
      pending?.destroy(new UpstreamError('aborted'));
    },
  };
}
