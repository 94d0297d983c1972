/**
 * As much of DER (X.690) as certificates need. Our own instead of a library: the proxy writes two fixed forms of certificate and reads
 * three fields of one, minting is on the path of a new connection, and the libraries bring an ASN.1 compiler and a container for it.
 */

export const tags = { boolean: 0x01, integer: 0x02, bitString: 0x03, octetString: 0x04, oid: 0x06, utf8String: 0x0c, utcTime: 0x17, generalizedTime: 0x18, sequence: 0x30, set: 0x31 } as const;

/** Context-specific tag `[n]`; constructed ones hold other elements. */
export function contextTag(n: number, constructed: boolean): number {
  return 0x80 | (constructed ? 0x20 : 0) | n;
}

function lengthBytes(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  if (length < 0x100) return Buffer.from([0x81, length]);
  if (length < 0x10000) return Buffer.from([0x82, length >> 8, length & 0xff]);
  throw new Error('DER element over 64 KiB');
}

export function element(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = content.length === 1 && content[0] !== undefined ? content[0] : Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag]), lengthBytes(body.length), body]);
}

export function sequence(...content: readonly Uint8Array[]): Buffer {
  return element(tags.sequence, ...content);
}

/** `2.5.29.17` and the like; arcs below 2^28. */
export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const bytes: number[] = [];
  for (const arc of [first * 40 + second, ...rest]) {
    const groups = [arc & 0x7f];
    for (let left = arc >>> 7; left > 0; left >>>= 7) groups.unshift(0x80 | (left & 0x7f));
    bytes.push(...groups);
  }
  return element(tags.oid, Buffer.from(bytes));
}

/** Content is taken as it is: big-endian, shortest form, top bit clear for a positive number. */
export function integer(bytes: Uint8Array): Buffer {
  return element(tags.integer, bytes);
}

export function trueValue(): Buffer {
  return element(tags.boolean, Buffer.from([0xff]));
}

export function bitString(bytes: Uint8Array, unusedBits = 0): Buffer {
  return element(tags.bitString, Buffer.from([unusedBits]), bytes);
}

/** Whole seconds; RFC 5280 4.1.2.5 asks for the two-digit year until 2049. */
export function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().slice(0, 19).replaceAll(/[-T:]/g, '');
  return digits < '2050' ? element(tags.utcTime, Buffer.from(`${digits.slice(2)}Z`)) : element(tags.generalizedTime, Buffer.from(`${digits}Z`));
}

export type Element = {
  readonly tag: number;
  readonly content: Buffer;
  /** Tag, length and content. */
  readonly whole: Buffer;
};

/** The elements that stand one after another in `bytes`. Throws when they are no DER, or do not end where the bytes end. */
export function readElements(bytes: Buffer): Element[] {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length;) {
    const tag = bytes[at] ?? 0;
    const first = bytes[at + 1];
    if (first === undefined || (tag & 0x1f) === 0x1f || first === 0x80 || first > 0x83) throw new Error('not DER');
    const lengthSize = first < 0x80 ? 0 : first & 0x7f;
    const start = at + 2 + lengthSize;
    if (start > bytes.length) throw new Error('DER element cut short');
    const end = start + (lengthSize === 0 ? first : bytes.readUIntBE(at + 2, lengthSize));
    if (end > bytes.length) throw new Error('DER element cut short');
    found.push({ tag, content: bytes.subarray(start, end), whole: bytes.subarray(at, end) });
    at = end;
  }
  return found;
}
