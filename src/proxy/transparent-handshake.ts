import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { SecureContext } from 'node:tls';
import { readHost } from '../kernel/host.ts';
import { agentTlsOptions } from './tls/authority.ts';
import type { ClientHello } from './tls/client-hello.ts';
import { readClientHello } from './tls/client-hello.ts';

export type HandshakeDeps = {
  /** Name of a connection whose handshake has none. */
  readonly nameByAddress: () => Promise<string | undefined>;
  /** Undefined: not for this client, not now. */
  readonly leafFor: (host: string) => Promise<SecureContext | undefined>;
  readonly timeoutMs: number;
};

/** `refused` is a slug for the row; `host` is there where a name was understood. */
export type Shaken = { readonly secure: TLSSocket; readonly host: string } | { readonly refused: string; readonly host?: string };

/** Fatal alert `unrecognized_name` (RFC 6066): the client learns that it was the name, and not the network. */
const unrecognizedName = Buffer.from([21, 3, 3, 0, 2, 2, 112]);

/**
 * Terminates TLS for the name a client asks for, in canonical form (attacks 101: read before a certificate is made for it). What was refused
 * or came too late is destroyed. Rejects when the name could not be looked up, or no certificate be made.
 */
export async function shakeHands(socket: Socket, deps: HandshakeDeps): Promise<Shaken> {
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    socket.destroy();
  }, deps.timeoutMs);
  try {
    const shaken = await attempt(socket, deps);
    return late && 'refused' in shaken ? { ...shaken, refused: 'tls_timeout' } : shaken;
  } finally {
    clearTimeout(timer);
  }
}

async function attempt(socket: Socket, { nameByAddress, leafFor }: HandshakeDeps): Promise<Shaken> {
  const hello = await receiveHello(socket);
  if (hello.kind !== 'hello') {
    socket.destroy();
    return { refused: 'tls_handshake' };
  }
  const named = hello.name ?? await nameByAddress();
  const read = named === undefined ? { refused: undefined } : readHost(named);
  if ('refused' in read) {
    socket.end(unrecognizedName, () => socket.destroy());
    return { refused: read.refused === undefined ? 'no_name' : `sni_${read.refused}` };
  }
  const host = read.text;
  const secureContext = await leafFor(host);
  if (secureContext === undefined) {
    socket.destroy();
    return { refused: 'too_many_names', host };
  }
  if (socket.destroyed) return { refused: 'tls_handshake', host };
  const secure = new TLSSocket(socket, { ...agentTlsOptions, secureContext });
  const isShaken = await new Promise<boolean>((resolve) => {
    secure.once('secure', () => resolve(true));
    secure.on('error', () => resolve(false));
    for (const event of ['close', 'end'] as const) secure.once(event, () => resolve(false));
  });
  if (isShaken) return { secure, host };
  secure.destroy();
  return { refused: 'tls_handshake', host };
}

/** Reads as far as the ClientHello, and puts back what was read. `more`: the connection ended before. */
function receiveHello(socket: Socket): Promise<ClientHello> {
  return new Promise((resolve) => {
    let received = Buffer.alloc(0);
    const onData = (chunk: Buffer): void => {
      received = Buffer.concat([received, chunk]);
      const hello = readClientHello(received);
      if (hello.kind !== 'more') settle(hello);
    };
    const onEnd = (): void => settle({ kind: 'more' });
    const settle = (hello: ClientHello): void => {
      socket.pause();
      socket.off('data', onData).off('end', onEnd).off('close', onEnd);
      if (hello.kind === 'hello') socket.unshift(received);
      resolve(hello);
    };
    socket.on('data', onData).once('end', onEnd).once('close', onEnd);
  });
}
