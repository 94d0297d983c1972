import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Teardown } from '../../support/stack.ts';

export type Relay = {
  readonly url: string;
  /** Path with query string, and body, of every request so far. */
  readonly seen: { readonly path: string; body: string }[];
  /** Bytes of each answer that are passed on. */
  passBytes: number;
  /** What happens behind those: the connection breaks, or the answer ends in good order. */
  then: 'break' | 'end';
};

/** Stands between the store and ClickHouse, and can lose the end of an answer as a bad network would. */
export async function startRelay(t: Teardown, target: string): Promise<Relay> {
  const relay = { url: '', seen: [] as Relay['seen'], passBytes: Number.POSITIVE_INFINITY, then: 'end' as Relay['then'] };
  const server = createServer((incoming, outgoing) => {
    const seen = { path: incoming.url ?? '/', body: '' };
    relay.seen.push(seen);
    const upstream = httpRequest(new URL(seen.path, target), { method: incoming.method, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      let left = relay.passBytes;
      answer.on('data', (bytes: Buffer) => {
        outgoing.write(bytes.subarray(0, left));
        left -= Math.min(left, bytes.length);
      });
      answer.on('end', () => (relay.then === 'break' && left === 0 ? outgoing.socket?.destroy() : outgoing.end()));
      answer.on('error', () => outgoing.destroy());
    });
    upstream.on('error', () => outgoing.destroy());
    outgoing.on('close', () => upstream.destroy());
    incoming.on('data', (bytes: Buffer) => (seen.body += bytes.toString('latin1')));
    incoming.pipe(upstream);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  relay.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.teardown(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return relay;
}
