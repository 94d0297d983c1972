import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as tlsConnect } from 'node:tls';

/** Opens a tunnel through the proxy, makes one call in it, and closes it. Rejects when the call is not answered 200. */
export async function openTunnel({ port, ca }: { readonly port: number; readonly ca: string }, token: string, host: string, upstreamPort: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`CONNECT ${host}:${upstreamPort} HTTP/1.1\r\nHost: ${host}:${upstreamPort}\r\nProxy-Authorization: Bearer ${token}\r\n\r\n`);
  const [answer] = await once(socket, 'data') as [Buffer];
  if (!/^HTTP\/1\.1 200 /.test(answer.toString())) throw new Error(answer.toString());
  const secure = tlsConnect({ socket, ca, servername: host });
  secure.write(`GET /v1/ok/tunnel HTTP/1.1\r\nHost: ${host}:${upstreamPort}\r\nConnection: close\r\n\r\n`);
  let received = '';
  secure.setEncoding('latin1').on('data', (text: string) => { received += text; });
  await once(secure, 'close');
  if (!/^HTTP\/1\.1 200 [^]*hello/.test(received)) throw new Error(`in the tunnel: ${received}`);
}
