import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Node's parser hangs on the socket. It is asked one thing only: whether it stands in the middle of a message. */
type Parsed = { readonly parser?: { finish(): unknown } | null };

/**
 * One client connection: in which order its exchanges are answered, and which bytes belong to which request. Node orders answers that
 * go through its responses; those written to the bare socket (CONNECT, Upgrade, malformed input after pipelined requests) wait here.
 */
export class Connection {
  readonly socket: Duplex;
  /** Set when the input of this connection has been given up: nothing that follows on it is a request. */
  refused = false;
  #lastRequest: IncomingMessage | undefined;
  #answered: Promise<void> = Promise.resolve();

  readonly #onClose = new Set<() => void>();

  constructor(socket: Duplex) {
    this.socket = socket;
    socket.once('close', () => {
      for (const settle of this.#onClose) settle();
    });
  }

  /**
   * Resolves when a response is out, or when it cannot be any more: one that waits behind an earlier response of the connection has
   * no socket yet and hears nothing of its end. Call it before sending.
   */
  sent(response: ServerResponse): Promise<void> {
    if (this.socket.destroyed) return Promise.resolve();
    return new Promise((resolve) => {
      const settle = (): void => {
        this.#onClose.delete(settle);
        resolve();
      };
      response.once('finish', settle);
      this.#onClose.add(settle);
    });
  }

  sawRequest(request: IncomingMessage): void {
    this.#lastRequest = request;
  }

  /** Takes the next place in the order of answers. `before` resolves when everything earlier is out; `done` gives the place up. */
  takePlace(): { readonly before: Promise<void>; readonly done: () => void } {
    const before = this.#answered;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#answered = before.then(() => promise);
    return { before, done: resolve };
  }

  /** Resolves when all answers so far are out. */
  get answered(): Promise<void> {
    return this.#answered;
  }

  /** True while the body of the last request is still to come: bad bytes then belong to that request, which has its row. */
  get inBody(): boolean {
    return this.#lastRequest !== undefined && !this.#lastRequest.complete;
  }

  /**
   * True when bytes of a request whose headers are not complete have arrived. It ends the parser, so ask it only when nothing more will be
   * read. The parser is not public, but its answer is exact, and counting bytes is not: pipelined requests share packets.
   */
  endsInsideRequest(): boolean {
    return !this.refused && !this.inBody && (this.socket as Parsed).parser?.finish() instanceof Error;
  }
}
