/**
 * Bytes of many chunks in one growing array that keeps at most the first `bytesMax`. Copied, because a kept slice would keep the whole of
 * the buffer that a socket was read into, and a string put together from single bytes costs thirty times its length.
 */
export class ByteBuffer {
  readonly #bytesMax: number;
  #bytes = Buffer.alloc(0);
  #seen = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes appended since the last `clear`, also those that were not kept. */
  get seen(): number {
    return this.#seen;
  }

  /** What is kept; valid until the next `append`. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, Math.min(this.#seen, this.#bytesMax));
  }

  append(chunk: Uint8Array): void {
    const kept = this.bytes;
    const length = Math.min(kept.length + chunk.length, this.#bytesMax);
    if (length > this.#bytes.length) {
      const grown = Buffer.alloc(Math.min(this.#bytesMax, Math.max(length, 2 * this.#bytes.length, 1_024)));
      grown.set(kept);
      this.#bytes = grown;
    }
    if (length > kept.length) this.#bytes.set(chunk.subarray(0, length - kept.length), kept.length);
    this.#seen += chunk.length;
  }

  clear(): void {
    this.#seen = 0;
  }
}
