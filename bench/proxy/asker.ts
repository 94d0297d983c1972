import type { Duplex } from 'node:stream';
import { openPlain, openTunnel } from './connect.ts';
import type { Target } from './job.ts';
import type { Scenario } from './scenarios.ts';

const chunkedEnd = Buffer.from('0\r\n\r\n');

type OnAnswer = (ok: boolean, reusable: boolean) => void;

/** Finds the end of one answer on a connection that never has two under way. `ended` is for bodies that end with their connection. */
function createAnswerReader(onAnswer: OnAnswer): { readonly onData: (data: Buffer) => void; readonly ended: () => boolean } {
  let head: Buffer | undefined;
  let missing: number | 'chunked' | 'close' | undefined;
  let tail: Buffer = Buffer.alloc(0);
  let ok = false;
  let reusable = true;

  function finish(): void {
    head = undefined;
    missing = undefined;
    tail = Buffer.alloc(0);
    onAnswer(ok, reusable);
  }

  function body(data: Buffer): void {
    if (missing === 'chunked') {
      // The terminator may be cut in two.
      tail = data.length >= chunkedEnd.length ? data.subarray(-chunkedEnd.length) : Buffer.concat([tail, data]).subarray(-chunkedEnd.length);
      if (tail.equals(chunkedEnd)) finish();
    } else if (typeof missing === 'number') {
      missing -= data.length;
      if (missing <= 0) finish();
    }
  }

  function onData(data: Buffer): void {
    if (missing !== undefined) return body(data);
    head = head === undefined ? data : Buffer.concat([head, data]);
    const end = head.indexOf('\r\n\r\n');
    if (end === -1) return;
    const text = head.toString('latin1', 0, end).toLowerCase();
    ok = /^http\/1\.[01] 200/.test(text);
    reusable = text.startsWith('http/1.1') && !text.includes('\r\nconnection: close');
    const length = /\r\ncontent-length: *(\d+)/.exec(text)?.[1];
    missing = text.includes('\r\ntransfer-encoding: chunked') ? 'chunked' : length === undefined ? 'close' : Number(length);
    body(head.subarray(end + 4));
  }

  function ended(): boolean {
    if (missing !== 'close') return false;
    reusable = false;
    finish();
    return true;
  }
  return { onData, ended };
}

export type Asker = { readonly ask: (done: (ok: boolean) => void) => void; readonly close: () => void };

/** One connection that sends the same bytes again and again, one request at a time; made anew after a failure, or for each request. */
export function createAsker(bytes: Buffer, { tunnel }: Scenario, target: Target): Asker {
  let socket: Duplex | undefined;
  let waiting: ((ok: boolean) => void) | undefined;
  let closed = false;

  function settle(ok: boolean, reusable = true): void {
    const done = waiting;
    waiting = undefined;
    if (tunnel === 'fresh' || target.closes || !ok || !reusable) drop();
    done?.(ok);
  }

  function drop(): void {
    const old = socket;
    socket = undefined;
    old?.destroy();
  }

  async function open(): Promise<Duplex> {
    const opened = await (tunnel === 'none' ? openPlain(target.proxyPort ?? target.ports.http) : openTunnel(target));
    opened.on('error', () => undefined);
    const reader = createAnswerReader(settle);
    opened.on('data', reader.onData);
    opened.once('close', () => {
      if (socket !== opened || reader.ended()) return;
      socket = undefined;
      settle(false);
    });
    if (closed) opened.destroy();
    return opened;
  }

  return {
    ask(done) {
      waiting = done;
      if (socket !== undefined) {
        socket.write(bytes);
        return;
      }
      // A failure is answered in a later turn: asking again at once would never let the others go on.
      open().then((opened) => {
        socket = opened;
        opened.write(bytes);
      }, () => setTimeout(settle, 10, false));
    },
    close() {
      closed = true;
      waiting = undefined;
      drop();
    },
  };
}
