import type { Duplex } from 'node:stream';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { UpstreamFailure } from '../contract.ts';
import type { HeaderField } from '../../transforms/contract.ts';
import type { UpstreamAnswer, UpstreamFailed } from '../upstream-port.ts';
import { UpstreamError, failureOf } from './failures.ts';
import type { Lease, OriginPool } from './origin-pool.ts';
import { fieldsOf, isAmbiguous, switchedTo } from './response-framing.ts';

export type OnInterim = (status: number, headers: readonly HeaderField[]) => void;

export type Sending = {
  readonly dispatch: Dispatcher.DispatchOptions;
  readonly signal: AbortSignal;
  readonly onInterim: OnInterim | undefined;
  /** Time for getting a connection, the wait for a free one included. */
  readonly connectTimeoutMs: number;
};

const interimMax = 16;

/** One request on one connection of the pool. Resolves once: with the answer's head, or with why there is none. */
export function exchange(pool: OriginPool, { dispatch, signal, onInterim, connectTimeoutMs }: Sending): Promise<UpstreamAnswer | UpstreamFailed> {
  return new Promise((resolve) => {
    let lease: Lease | undefined;
    let controller: Dispatcher.DispatchController | undefined;
    let body: Readable | undefined;
    let socket: Duplex | undefined;
    let trailers: readonly HeaderField[] = [];
    let started = false;
    let bodySent = false;
    let over = false;
    let interims = 0;

    /** The connection is given back, and nothing of this request is listened to any more. */
    const close = (reusable: boolean): boolean => {
      if (over) return false;
      over = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      pool.leave(waiter);
      lease?.release(reusable);
      return true;
    };

    const fail = (failure: UpstreamFailure): void => {
      if (!close(false)) return;
      const error = new UpstreamError(failure);
      controller?.abort(error);
      socket?.destroy();
      if (body === undefined) resolve({ failure, sent: started });
      else body.destroy(error);
    };

    const onAbort = (): void => fail('aborted');
    let timer: NodeJS.Timeout | undefined;

    const answerBody = (): Readable => {
      const stream = new Readable({
        read: () => controller?.resume(),
        destroy(error, done) {
          // Also called at the regular end, when this is closed already.
          fail(error instanceof UpstreamError ? error.failure : 'aborted');
          done(error);
        },
      });
      // Whoever reads sees the error; one that comes before anybody reads must not end the process.
      stream.on('error', () => undefined);
      return stream;
    };

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(given) {
        clearTimeout(timer);
        controller = given;
        if (over) given.abort(new UpstreamError('aborted'));
        else started = true;
      },
      onRequestSent() {
        bodySent = true;
      },
      onResponseStart(_controller, status) {
        const fields = fieldsOf(controller?.rawHeaders as readonly Buffer[] | null);
        if (status < 200) {
          interims += 1;
          // A switch without the headers of one comes as if it were an interim answer.
          if (interims > interimMax || status === 101) fail('protocol_error');
          else onInterim?.(status, fields);
          return;
        }
        if (isAmbiguous(fields)) return fail('protocol_error');
        body = answerBody();
        resolve({ status, headers: fields, body, trailers: () => trailers });
      },
      onResponseData(_controller, chunk) {
        if (body?.push(chunk) === false) controller?.pause();
      },
      onResponseEnd() {
        trailers = fieldsOf(controller?.rawTrailers as readonly Buffer[] | null);
        close(true);
        body?.push(null);
      },
      onResponseError(_controller, error) {
        const { body: sending } = dispatch;
        // The agent cut its body: undici hands its stream's error on as ours.
        if (sending instanceof Readable && sending.errored === error) return fail('aborted');
        fail(failureOf(error, body !== undefined ? 'answering' : bodySent ? 'waiting' : 'sending'));
      },
      onRequestUpgrade(_controller, status, _headers, upgraded) {
        const fields = fieldsOf(controller?.rawHeaders as readonly Buffer[] | null);
        upgraded.on('error', () => undefined);
        socket = upgraded;
        if (switchedTo(fields) !== dispatch.upgrade) return fail('protocol_error');
        upgraded.once('close', () => close(false));
        const none = Readable.from([]);
        resolve({ status, headers: fields, body: none, trailers: () => [], socket: upgraded });
      },
    };

    const waiter = (given: Lease | undefined): void => {
      if (given === undefined) return fail('connect_failed');
      lease = given;
      given.dispatch(dispatch, handler);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    if (!pool.acquire(waiter)) fail('connect_timeout');
    // A connection that stands takes its request at once, and needs no clock.
    else if (!started && !over) timer = setTimeout(() => fail('connect_timeout'), connectTimeoutMs);
  });
}
