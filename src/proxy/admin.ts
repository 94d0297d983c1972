import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';

/** A dependency's state: undefined when it is well, else what is wrong, without addresses or credentials. */
export type Check = () => string | undefined | Promise<string | undefined>;

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store' });
  response.end(body);
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  send(response, status, 'application/json; charset=utf-8', JSON.stringify(body));
}

async function problemsOf(checks: Readonly<Record<string, Check>>): Promise<Record<string, string>> {
  const results = await Promise.all(Object.entries(checks).map(async ([name, check]) => [name, await check()] as const));
  return Object.fromEntries(results.filter((result): result is readonly [string, string] => result[1] !== undefined));
}

/**
 * `/healthz` (the process runs), `/readyz` (503 naming each dependency that is down), `/metrics`. A listener of its own, so that no agent
 * reaches it through the proxy's port.
 */
export function createAdmin(deps: { readonly registry: Registry; readonly checks: Readonly<Record<string, Check>> }): Server {
  async function answer(path: string, response: ServerResponse): Promise<void> {
    if (path === '/healthz') return sendJson(response, 200, { status: 'ok' });
    if (path === '/readyz') {
      const down = await problemsOf(deps.checks);
      const ready = Object.keys(down).length === 0;
      return sendJson(response, ready ? 200 : 503, ready ? { status: 'ready' } : { status: 'not ready', down });
    }
    if (path === '/metrics') return send(response, 200, deps.registry.contentType, await deps.registry.metrics());
    sendJson(response, 404, { error: { code: 'not_found', message: 'Try /healthz, /readyz or /metrics.' } });
  }

  const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000, keepAliveTimeout: 5_000 }, (request, response) => {
    request.resume();
    if (request.method !== 'GET' && request.method !== 'HEAD') return sendJson(response, 405, { error: { code: 'method_not_allowed', message: 'GET only.' } });
    answer((request.url ?? '').replace(/\?.*$/s, ''), response).catch(() => response.destroy());
  });
  server.maxConnections = 256;
  return server;
}
