import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';

/** A dependency's state: undefined when it is well, else what is wrong, without addresses or credentials. A rejection counts as down. */
export type Check = () => string | undefined | Promise<string | undefined>;

export type AdminServer = { readonly url: string; close(): Promise<void> };

/** A check that hangs is a dependency that is down. */
const checkMs = 3_000;

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store' });
  response.end(body);
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  send(response, status, 'application/json; charset=utf-8', JSON.stringify(body));
}

async function problem(check: Check): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => { timer = setTimeout(() => resolve('does not answer in time'), checkMs); });
  try {
    return await Promise.race([Promise.resolve().then(check), late]);
  } catch {
    // The error names addresses; whoever asks learns which dependency it is, and the log has the rest.
    return 'does not answer';
  } finally {
    clearTimeout(timer);
  }
}

async function answer(path: string, response: ServerResponse, deps: { registry: Registry; checks: Readonly<Record<string, Check>> }): Promise<void> {
  if (path === '/healthz') return sendJson(response, 200, { status: 'ok' });
  if (path === '/readyz') {
    const results = await Promise.all(Object.entries(deps.checks).map(async ([name, check]) => [name, await problem(check)] as const));
    const down = Object.fromEntries(results.filter(([, text]) => text !== undefined));
    const ready = Object.keys(down).length === 0;
    return sendJson(response, ready ? 200 : 503, ready ? { status: 'ready' } : { status: 'not ready', down });
  }
  if (path === '/metrics') return send(response, 200, deps.registry.contentType, await deps.registry.metrics());
  sendJson(response, 404, { error: { code: 'not_found', message: 'Try /healthz, /readyz or /metrics.' } });
}

/**
 * `/healthz` (the process runs), `/readyz` (503 naming each dependency that is down) and `/metrics` of a role that has no API of its own.
 * Rejects when the port cannot be bound; port 0 takes a free one.
 */
export async function startAdminServer(deps: { host: string; port: number; registry: Registry; checks: Readonly<Record<string, Check>> }): Promise<AdminServer> {
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000, keepAliveTimeout: 5_000 }, (request, response) => {
    request.resume();
    if (request.method !== 'GET' && request.method !== 'HEAD') return sendJson(response, 405, { error: { code: 'method_not_allowed', message: 'GET only.' } });
    answer((request.url ?? '').replace(/\?.*$/s, ''), response, deps).catch(() => response.destroy());
  });
  server.maxConnections = 256;
  server.listen(deps.port, deps.host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${deps.host.includes(':') ? `[${deps.host}]` : deps.host}:${port}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
