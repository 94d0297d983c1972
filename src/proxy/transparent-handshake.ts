import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { SecureContext } from 'node:tls';
import { readHost } from '../kernel/host.ts';
import { agentTlsOptions } from './tls/authority.ts';
import { wellKnownHost } from './tls/well-known.ts';

export type HandshakeDeps = {
  /** Name of a connection whose handshake has none. */
  readonly nameByAddress: () => Promise<string | undefined>;
  /** Undefined: not for this client, not now. */
  readonly leafFor: (host: string) => Promise<SecureContext | undefined>;
  readonly timeoutMs: number;
  readonly onFault: (error: unknown) => void;
};

/** `refused` is a slug for the row; `host` there where a name was understood. */
export type Shaken = { readonly secure: TLSSocket; readonly host: string } | { readonly refused: string; readonly host: string | undefined };

/** A handshake that ends without a word: its client is told nothing that it could not see. */
class HandshakeRefused extends Error {}

/**
 * Terminates TLS for the name a client asks for, in canonical form (attacks 101: read before a certificate is made for it). Never rejects;
 * what was refused or came too late is destroyed.
 */
export async function shakeHands(socket: Socket, { nameByAddress, leafFor, timeoutMs, onFault }: HandshakeDeps): Promise<Shaken> {
  let refused: string | undefined;
  let host: string | undefined;
  const timer = setTimeout(() => {
    refused ??= 'tls_timeout';
    socket.destroy();
  }, timeoutMs);

  /** With a name of the handshake that is a host, its context; the reason in `refused` without one. */
  async function contextOf(servername: string): Promise<SecureContext> {
    const read = readHost(servername);
    if ('refused' in read) refused = `sni_${read.refused}`;
    else host = read.text;
    const context = host === undefined ? undefined : await leafFor(host);
    if (context !== undefined) return context;
    refused ??= 'too_many_names';
    throw new HandshakeRefused(refused);
  }

  try {
    const unnamed = await nameByAddress();
    // OpenSSL begins with some context, whose keys open the tickets of all of them. It answers clients that name nobody, who are sent away after it.
    const secureContext = await leafFor(unnamed ?? wellKnownHost);
    if (secureContext === undefined || socket.destroyed) return { refused: refused ?? (socket.destroyed ? 'tls_handshake' : 'too_many_names'), host: unnamed };
    const secure = new TLSSocket(socket, {
      ...agentTlsOptions, secureContext,
      SNICallback: (servername, done) => {
        contextOf(servername).then((context) => done(null, context), (error: Error) => {
          if (!(error instanceof HandshakeRefused)) onFault(error);
          done(error);
        });
      },
    });
    const shaken = await new Promise<boolean>((resolve) => {
      secure.once('secure', () => resolve(true));
      for (const event of ['close', 'end', 'error'] as const) secure.once(event, () => resolve(false));
    });
    secure.on('error', () => secure.destroy());
    if (shaken) host = nameOf(secure, unnamed);
    if (shaken && host !== undefined) return { secure, host };
    secure.destroy();
    return { refused: refused ?? (shaken ? 'no_name' : 'tls_handshake'), host };
  } catch (error) {
    onFault(error);
    return { refused: 'tls_handshake', host };
  } finally {
    clearTimeout(timer);
  }
}

/** Read again from the finished handshake: a resumed session has not asked for a context. */
function nameOf(secure: TLSSocket, unnamed: string | undefined): string | undefined {
  const { servername } = secure as { servername?: string | false | null };
  if (typeof servername !== 'string' || servername === '') return unnamed;
  const read = readHost(servername);
  return 'refused' in read ? undefined : read.text;
}
