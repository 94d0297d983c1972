import type { Duplex, Readable } from 'node:stream';
import type { HeaderField, OutgoingRequest } from '../transforms/contract.ts';
import type { UpstreamFailure } from './contract.ts';

/** What an upstream answered. `body` ends only when it came whole; it errors when it was cut. */
export type UpstreamAnswer = {
  readonly status: number;
  /** In wire order, as they came. */
  readonly headers: readonly HeaderField[];
  readonly body: Readable;
  /** Of a chunked body, known when it has ended. */
  readonly trailers: () => readonly HeaderField[];
  /** After a 101: the connection itself. */
  readonly socket?: Duplex;
};

export type UpstreamFailed = { readonly failure: UpstreamFailure; /** Whether bytes of the request may have left the proxy. */ readonly sent: boolean };

export type UpstreamSend = (
  request: OutgoingRequest,
  options: {
    readonly body: Readable | Buffer | undefined;
    /** Undefined: chunked. */
    readonly bodyLength: number | undefined;
    /** The policy names this very address. */
    readonly literal: boolean;
    readonly signal: AbortSignal;
    readonly upgrade?: string;
  },
) => Promise<UpstreamAnswer | UpstreamFailed>;
