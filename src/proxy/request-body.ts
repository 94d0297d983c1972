import type { IncomingMessage } from 'node:http';

/** A whole body. `text` undefined where it is not UTF-8 or is compressed. */
export type BufferedBody = { readonly kind: 'buffered'; readonly bytes: Buffer; readonly text: string | undefined };
export type BodyRead = BufferedBody | { readonly kind: 'too_large' } | { readonly kind: 'aborted' };

/**
 * Reads a body for rules that inspect it. What is over the limit is never cut: a part that passes a schema says nothing of the whole.
 * Time is bounded by the listener's request timeout, which ends the connection.
 */
export function readRequestBody(request: IncomingMessage, bytesMax: number): Promise<BodyRead> {
  const declared = Number(request.headers['content-length'] ?? '0');
  if (declared > bytesMax) return Promise.resolve({ kind: 'too_large' });
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const finish = (read: BodyRead): void => {
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      // A stream whose `data` listener is gone stays in flowing mode and would drop nothing by itself.
      request.on('error', () => undefined);
      resolve(read);
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > bytesMax) finish({ kind: 'too_large' });
      else chunks.push(chunk);
    };
    const onEnd = (): void => {
      const whole = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
      finish({ kind: 'buffered', bytes: whole, text: textOf(whole, request.headers['content-encoding']) });
    };
    const onClose = (): void => finish({ kind: 'aborted' });
    request.on('data', onData).once('end', onEnd).once('close', onClose).once('error', onClose);
  });
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOf(bytes: Buffer, encoding: string | undefined): string | undefined {
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') return undefined;
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}
