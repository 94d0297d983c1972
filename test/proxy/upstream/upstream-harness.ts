import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSettings } from '../../../src/config/settings.ts';
import type { OutgoingRequest } from '../../../src/transforms/contract.ts';
import type { Send, Upstream } from '../../../src/proxy/upstream/dispatch.ts';
import { UpstreamError } from '../../../src/proxy/upstream/failures.ts';
import type { Lookup } from '../../../src/proxy/upstream/lookup-queue.ts';
import { createUpstream } from '../../../src/proxy/upstream/upstream.ts';

export type Teardown = { teardown(fn: () => unknown): unknown };
export type Answer = Awaited<ReturnType<Send>>;
export type Good = Exclude<Answer, { readonly failure: unknown }>;
type Options = Parameters<Send>[1];

/** An upstream leg that may dial this machine; names come out at 127.0.0.1. */
export function upstreamOf(t: Teardown, env: Readonly<Record<string, string>> = {}, lookup: Lookup = async () => [{ address: '127.0.0.1' }]): Upstream {
  const upstream = createUpstream(readSettings({ CUSTOMHOUSE_ENV: 'test', PROXY_ALLOW_PRIVATE_UPSTREAMS: '127.0.0.0/8,::1', ...env }), { lookup });
  t.teardown(() => upstream.stop());
  return upstream;
}

export function requestTo(port: number, rest: Partial<OutgoingRequest> = {}): OutgoingRequest {
  return { method: 'GET', scheme: 'http', host: 'up.example', port, path: '/', rawQuery: '', headers: [], body: { kind: 'none' }, ...rest };
}

export function ask(upstream: Upstream, request: OutgoingRequest, options: Partial<Options> = {}): Promise<Answer> {
  return upstream.send(request, { body: undefined, bodyLength: 0, literal: false, signal: new AbortController().signal, ...options });
}

export async function textOf(answer: Answer): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of good(answer).body as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('latin1');
}

/** Why an answer's body did not come whole; `complete` when it did. */
export async function cutOf(answer: Answer): Promise<string> {
  try {
    await textOf(answer);
    return 'complete';
  } catch (error) {
    return error instanceof UpstreamError ? error.failure : String(error);
  }
}

export function good(answer: Answer): Good {
  if ('failure' in answer) throw new Error(`no answer: ${answer.failure}`);
  return answer;
}

export type RawUpstream = { readonly port: number; readonly server: Server; readonly sockets: Set<Socket>; /** All bytes that came, over all connections. */ readonly received: () => string; readonly connections: () => number };

/** A TCP server that writes what a test says. `onRequest` is called for each head that came whole. */
export async function rawUpstream(t: Teardown, onRequest: (socket: Socket, head: string) => void, onConnection: (socket: Socket) => void = () => undefined): Promise<RawUpstream> {
  const sockets = new Set<Socket>();
  let received = '';
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    let pending = '';
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
      pending += chunk.toString('latin1');
      for (let end = pending.indexOf('\r\n\r\n'); end !== -1; end = pending.indexOf('\r\n\r\n')) {
        const head = pending.slice(0, end + 4);
        pending = pending.slice(end + 4);
        // A body before it is skipped.
        const at = head.search(/(?:GET|HEAD|POST|PUT) [^ ]+ HTTP\/1\.1\r\n/);
        if (at !== -1) onRequest(socket, head.slice(at));
      }
    });
    onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, server, sockets, received: () => received, connections: () => connections };
}

/** Resolves when `condition` holds; the test's own time limit ends it otherwise. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}

export type Certificates = { readonly caFile: string; issue(names: readonly string[]): { readonly key: string; readonly cert: string } };

/** An authority in a directory of its own, and leaves of it. */
export function certificates(t: Teardown): Certificates {
  const dir = mkdtempSync(join(tmpdir(), 'upstream-ca-'));
  t.teardown(() => rmSync(dir, { recursive: true }));
  const openssl = (...args: string[]): void => void execFileSync('openssl', args, { cwd: dir, stdio: 'pipe' });
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl('req', '-x509', ...ec, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=upstream test authority', '-days', '2', '-addext', 'basicConstraints=critical,CA:TRUE');
  let serial = 0;
  return {
    caFile: join(dir, 'ca.pem'),
    issue(names) {
      serial += 1;
      openssl('req', '-x509', ...ec, '-keyout', `${serial}.key`, '-out', `${serial}.pem`, '-subj', '/CN=leaf', '-days', '2', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-addext', `subjectAltName=${names.join(',')}`, '-addext', 'basicConstraints=critical,CA:FALSE');
      return { key: readFileSync(join(dir, `${serial}.key`), 'utf8'), cert: readFileSync(join(dir, `${serial}.pem`), 'utf8') };
    },
  };
}
