import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { connect as secure } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import type { Target } from './job.ts';
import { host } from './scenarios.ts';

export function openPlain(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true });
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}

/** TLS over a socket. Certificates are not verified: that would be the generator's time. Each handshake is a full one. */
function shake(socket: Socket): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const wrapped = secure({ socket, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
    wrapped.once('secureConnect', () => resolve(wrapped));
    wrapped.once('error', reject);
    wrapped.once('close', () => reject(new Error('closed in the handshake')));
  });
}

/** One tunnel through the proxy, or TLS to the upstream itself where there is none. Rejects when it is refused. */
export async function openTunnel({ proxyPort, token, ports }: Target): Promise<TLSSocket> {
  const socket = await openPlain(proxyPort ?? ports.https);
  if (proxyPort === undefined) return shake(socket);
  const answered = new Promise<string>((resolve, reject) => {
    socket.once('data', (data: Buffer) => resolve(data.toString('latin1')));
    socket.once('close', () => reject(new Error('closed instead of a tunnel')));
  });
  socket.write(`CONNECT ${host}:${ports.https} HTTP/1.1\r\nHost: ${host}:${ports.https}\r\nProxy-Authorization: Bearer ${token}\r\n\r\n`);
  const head = await answered;
  if (!/^HTTP\/1\.[01] 200 /.test(head)) {
    socket.destroy();
    throw new Error(head.split('\r\n')[0]);
  }
  return shake(socket);
}

const atOnce = 20;

/** That many tunnels, shaken hands and silent. */
export async function openTunnels(target: Target, count: number): Promise<readonly TLSSocket[]> {
  const tunnels: TLSSocket[] = [];
  while (tunnels.length < count) {
    const opened = await Promise.all(Array.from({ length: Math.min(atOnce, count - tunnels.length) }, () => openTunnel(target)));
    for (const tunnel of opened) tunnel.on('error', () => undefined);
    tunnels.push(...opened);
  }
  return tunnels;
}
