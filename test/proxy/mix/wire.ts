import type { Duplex } from 'node:stream';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { connect as tlsConnect } from 'node:tls';

/** The other side closed before what was waited for came. */
export class WireClosedError extends Error {}

/** A connection whose bytes are sent and read as they are; `secure` puts TLS into it. */
export class Wire {
  received = '';
  readonly tcp: Socket;
  #stream: Duplex;
  readonly closed: Promise<void>;

  constructor(port: number) {
    this.tcp = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    this.tcp.on('error', () => undefined);
    this.closed = new Promise((resolve) => this.tcp.once('close', () => resolve()));
    this.#stream = this.tcp;
    this.#read();
  }

  #read(): void {
    this.#stream.on('data', (chunk: Buffer) => { this.received += chunk.toString('latin1'); });
    this.#stream.once('end', () => this.#stream.end());
  }

  /** Resolves when the bytes were given to the kernel, or cannot be any more. */
  send(text: string): Promise<void> {
    return new Promise((resolve) => this.#stream.write(text, 'latin1', () => resolve()));
  }

  async until(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.received)) {
      if (this.tcp.destroyed) throw new WireClosedError();
      await new Promise<void>((resolve) => {
        const settle = (): void => {
          this.#stream.off('data', settle);
          this.tcp.off('close', settle);
          resolve();
        };
        this.#stream.on('data', settle);
        this.tcp.on('close', settle);
      });
    }
  }

  /** Sends the last bytes, then waits for the other side to close. */
  async last(text: string): Promise<void> {
    await this.send(text);
    await this.closed;
  }

  /** Half closes after `text`, then waits for the other side to close. */
  async end(text = ''): Promise<void> {
    this.#stream.end(text, 'latin1');
    await this.closed;
  }

  async reset(): Promise<void> {
    this.tcp.resetAndDestroy();
    await this.closed;
  }

  async secure(ca: string, servername: string): Promise<void> {
    this.tcp.removeAllListeners('data');
    this.tcp.removeAllListeners('end');
    const secure = tlsConnect({ socket: this.tcp, ca, servername });
    secure.on('error', () => this.tcp.destroy());
    this.#stream = secure;
    this.received = '';
    await new Promise<void>((resolve, reject) => {
      secure.once('secureConnect', resolve);
      this.tcp.once('close', () => reject(new WireClosedError()));
    });
    this.#read();
  }
}
