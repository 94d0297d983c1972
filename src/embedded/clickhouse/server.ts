import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAnswer, sendException } from './answer.ts';
import { readBody, readHead } from './body.ts';
import type { Engine } from './engine.ts';
import { ClickHouseException, aborted, accessDenied, badArguments, notImplemented, toException, tooLarge } from './exception.ts';
import { parseMultipart } from './multipart.ts';
import { createQueryHandler } from './query-handler.ts';
import type { QueryLimits } from './query-handler.ts';
import { readQueryRequest } from './query-request.ts';

export interface ClickHouseServerOptions extends QueryLimits {
  readonly spoolDir: string;
  readonly user: string;
  readonly password: string;
  /** A client that takes nothing of its answer for this long is cut off. */
  readonly sendTimeoutMs: number;
}

export interface ClickHouseServer {
  listen(port: number, host: string): Promise<number>;
  /** Refuses new queries, lets running ones finish until the deadline, then stops them in the engine. */
  close(deadlineMs: number): Promise<void>;
}

const multipartBytesMax = 32 * 1_048_576;
const drainBytesMax = 64 * 1_048_576;

/**
 * The part of ClickHouse's HTTP interface that its JavaScript client uses in URL mode, over an engine in this process. What it does
 * not have it refuses by name (code 48): sessions, roles, native compression, external tables.
 */
export function createClickHouseServer(engine: Engine, options: ClickHouseServerOptions): ClickHouseServer {
  const queries = createQueryHandler(engine, options.spoolDir, options);
  const running = new Set<AbortController>();
  let closing = false;
  let loopbackOnly = false;

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = parseUrl(incoming.url ?? '/');
    if (url === undefined) throw badArguments('The request target is not a valid URL.');
    if (!['GET', 'POST', 'HEAD'].includes(incoming.method ?? '')) throw notImplemented(`HTTP method ${incoming.method ?? ''} is not supported.`);
    if (url.pathname === '/ping' || url.pathname === '/replicas_status') return sendText(response, 200, 'Ok.\n');
    if (url.pathname !== '/') return sendText(response, 404, `There is no handle ${url.pathname.slice(0, 200)}\n\nUse / or /ping for health checks.\nSend queries from your program with POST method or GET /?query=...\n`);
    if (incoming.method !== 'POST' && !url.searchParams.has('query')) return sendText(response, 200, 'Ok.\n');
    // A page in a browser can post to 127.0.0.1, and would do so with this header.
    if (incoming.headers.origin !== undefined) throw accessDenied('Requests from web pages are not allowed.');
    // One that has its own name resolve to 127.0.0.1 would even read the answers, but cannot hide the name.
    if (loopbackOnly && !/^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i.test(incoming.headers.host ?? '')) throw accessDenied('The Host header does not name this machine.');
    authenticate(incoming, url, options.user, options.password);
    if (closing) throw aborted('The server is shutting down.');

    const multipart = /^multipart\/form-data\b/i.test(incoming.headers['content-type'] ?? '') ? incoming.headers['content-type'] : undefined;
    const fields = multipart === undefined ? new Map<string, string>() : parseMultipart(multipart, await readAll(incoming, multipartBytesMax));
    const request = readQueryRequest(incoming, url, fields);
    const controller = new AbortController();
    running.add(controller);
    response.once('close', () => {
      if (!response.writableFinished) controller.abort();
      running.delete(controller);
    });
    const answer = createAnswer(incoming, response, {
      queryId: request.queryId, version: engine.version, compress: request.compressResponse, signal: controller.signal, sendTimeoutMs: options.sendTimeoutMs,
    });
    try {
      await queries.handle(request, multipart === undefined ? incoming : undefined, answer, controller.signal);
    } catch (error) {
      logUnexpected(error);
      if (!answer.started) await drain(incoming, response);
      await answer.fail(error);
    }
  };

  const server = createServer({
    maxHeaderSize: 1_114_112,
    headersTimeout: 30_000,
    requestTimeout: 600_000,
    keepAliveTimeout: 30_000,
    connectionsCheckingInterval: 5_000,
  }, (incoming, response) => {
    // Errors of the connection end the reading or writing that is under way, which is where they are handled.
    incoming.on('error', () => undefined);
    response.on('error', () => undefined);
    handle(incoming, response).catch(async (error: unknown) => {
      logUnexpected(error);
      if (response.headersSent || response.destroyed) {
        response.destroy();
        return;
      }
      await drain(incoming, response);
      sendException(response, toException(error), engine.version);
    }).catch((error: unknown) => {
      logUnexpected(error);
      response.destroy();
    });
  });
  server.maxConnections = 1024;
  server.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
    else socket.destroy();
  });

  return {
    listen: (port, host) => new Promise((resolve, reject) => {
      loopbackOnly = host === 'localhost' || host === '::1' || host.startsWith('127.');
      server.once('error', reject);
      server.listen(port, host, () => {
        server.removeListener('error', reject);
        resolve((server.address() as AddressInfo).port);
      });
    }),
    async close(deadlineMs) {
      closing = true;
      queries.close();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      // A connection becomes idle when its answer is out, and would then stay open for its client's next request.
      const idle = setInterval(() => server.closeIdleConnections(), 20);
      const deadline = setTimeout(() => {
        for (const controller of running) controller.abort();
        setTimeout(() => server.closeAllConnections(), 1000).unref();
      }, deadlineMs);
      await closed;
      clearInterval(idle);
      clearTimeout(deadline);
      // The last answers are out, but a cancelled query may still be on its way down.
      while (queries.running > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    },
  };
}

function parseUrl(target: string): URL | undefined {
  return target.startsWith('/') ? URL.parse(`http://localhost${target}`) ?? undefined : undefined;
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=UTF-8', 'Content-Length': Buffer.byteLength(text) });
  response.end(text);
}

async function readAll(incoming: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const head = await readHead(readBody(incoming, bytesMax), bytesMax);
  if (!head.complete) throw tooLarge(`The multipart body is longer than ${bytesMax} bytes.`);
  return head.bytes;
}

/** Reads what is left of a body, so that the client, still sending, gets to read why it was refused; not for ever. */
async function drain(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  let bytes = 0;
  try {
    for await (const chunk of incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > drainBytesMax) break;
    }
  } catch {
    // The client is gone; the answer will not be read.
  }
  if (!incoming.complete) response.shouldKeepAlive = false;
}

function authenticate(incoming: IncomingMessage, url: URL, user: string, password: string): void {
  const { authorization } = incoming.headers;
  const header = (name: string): string | undefined => {
    const value = incoming.headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  let given = { user: header('x-clickhouse-user') ?? url.searchParams.get('user') ?? 'default', password: header('x-clickhouse-key') ?? url.searchParams.get('password') ?? '' };
  if (authorization !== undefined) {
    const [scheme = '', credentials = ''] = authorization.split(' ');
    const [basicUser = '', ...basicPassword] = Buffer.from(credentials, 'base64').toString('utf8').split(':');
    // Anything but Basic can match no password.
    given = scheme.toLowerCase() === 'basic' ? { user: basicUser, password: basicPassword.join(':') } : { user: '', password: '' };
  }
  const same = (a: string, b: string): boolean => timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest());
  const userMatches = same(given.user, user);
  const passwordMatches = same(given.password, password);
  if (!userMatches || !passwordMatches) {
    throw new ClickHouseException(516, 'AUTHENTICATION_FAILED', `${user === given.user ? user : 'user'}: Authentication failed: password is incorrect, or there is no user with such name.`);
  }
}

function logUnexpected(error: unknown): void {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  const clientGone = code === 'ECONNRESET' || code === 'EPIPE' || code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ABORT_ERR';
  if (toException(error).code === 1002 && !clientGone) console.error(error);
}
