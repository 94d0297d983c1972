/**
 * What the first bytes of a TLS client say: the name it asks for (SNI), `name: undefined` when it names none; `more` until the whole
 * ClientHello is there; `bad` for everything that is no ClientHello of TLS 1.0 to 1.3.
 */
export type ClientHello = { readonly kind: 'hello'; readonly name: string | undefined } | { readonly kind: 'more' } | { readonly kind: 'bad' };

/** Hellos with post-quantum keys and a ticket have about 2 KB. */
export const helloBytesMax = 16_384;
const recordsMax = 16;
const recordHeaderBytes = 5;
const handshakeHeaderBytes = 4;
const bad: ClientHello = { kind: 'bad' };
const more: ClientHello = { kind: 'more' };

class MalformedHello extends Error {}

/** Reads forwards; what would go past the end is malformed. */
class Cursor {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get done(): boolean {
    return this.#at === this.#bytes.length;
  }

  take(length: number): Buffer {
    if (this.#at + length > this.#bytes.length) throw new MalformedHello();
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  /** A vector whose length is written before it in this many bytes. */
  vector(lengthBytes: 1 | 2): Buffer {
    return this.take(this.take(lengthBytes).readUIntBE(0, lengthBytes));
  }
}

/**
 * Read here although OpenSSL reads it too: it does not tell the name of a session that TLS 1.2 resumes, and it tells any name only when a
 * certificate is chosen already. `bytes` are all that were received so far.
 */
export function readClientHello(bytes: Buffer): ClientHello {
  const parts: Buffer[] = [];
  let length = 0;
  let wanted = handshakeHeaderBytes;
  for (let at = 0, records = 0; length < wanted; records += 1) {
    if (bytes.length > at && bytes[at] !== 22) return bad;
    if (bytes.length > at + 1 && bytes[at + 1] !== 3) return bad;
    if (bytes.length < at + recordHeaderBytes) return at >= helloBytesMax ? bad : more;
    const recordBytes = bytes.readUInt16BE(at + 3);
    if (recordBytes === 0 || recordBytes > helloBytesMax || records >= recordsMax) return bad;
    const part = bytes.subarray(at + recordHeaderBytes, at + recordHeaderBytes + recordBytes);
    parts.push(part);
    length += part.length;
    at += recordHeaderBytes + recordBytes;
    if (length >= handshakeHeaderBytes && wanted === handshakeHeaderBytes) {
      const head = Buffer.concat(parts);
      wanted += head.readUIntBE(1, 3);
      if (head[0] !== 1 || wanted > helloBytesMax) return bad;
    }
    if (length < wanted && at > bytes.length) return more;
  }
  try {
    return { kind: 'hello', name: serverName(Buffer.concat(parts).subarray(handshakeHeaderBytes, wanted)) };
  } catch (error) {
    if (error instanceof MalformedHello) return bad;
    throw error;
  }
}

/** RFC 8446 4.1.2 and RFC 6066 3: at most one list, with one host name in it. */
function serverName(hello: Buffer): string | undefined {
  const cursor = new Cursor(hello);
  cursor.take(2 + 32);
  cursor.vector(1);
  cursor.vector(2);
  cursor.vector(1);
  if (cursor.done) return undefined;
  const extensions = new Cursor(cursor.vector(2));
  let name: string | undefined;
  while (!extensions.done) {
    const type = extensions.take(2).readUInt16BE(0);
    const content = extensions.vector(2);
    if (type !== 0) continue;
    const list = new Cursor(new Cursor(content).vector(2));
    if (name !== undefined || list.take(1)[0] !== 0) throw new MalformedHello();
    name = list.vector(2).toString('latin1');
    if (name === '' || !list.done) throw new MalformedHello();
  }
  return name;
}
