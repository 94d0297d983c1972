import type { Rcode } from './wire.ts';
import { classIn, flags, headerBytes, queryBytesMax, rcodes, types } from './wire.ts';

export type Edns = { readonly payloadBytes: number; readonly version: number };

/** One question. `name` is ASCII-safe text in the case it was asked in, or undefined for labels that no text can show without ambiguity. */
export type Query = {
  readonly id: number;
  readonly recursionDesired: boolean;
  /** The question section as it came, so that the answer repeats it bit by bit (0x20). */
  readonly question: Buffer;
  readonly name: string | undefined;
  readonly type: number;
  readonly edns: Edns | undefined;
};

/** `drop`: not answered, because it is no query or has no whole header. `failed`: answered with the header alone. */
export type ReadQuery =
  | { readonly kind: 'query'; readonly query: Query }
  | { readonly kind: 'drop' }
  | { readonly kind: 'failed'; readonly id: number; readonly rcode: Rcode; readonly opcode: number; readonly recursionDesired: boolean };

const additionalsMax = 4;
const nameBytesMax = 255;
const recordHeadBytes = 10;

/**
 * Reads one query from the wire. The question is read here and not by a library, because libraries join labels with dots, and then the
 * labels `a.b` + `c` and `a` + `b` + `c` are one name: the one compared would not be the one asked for.
 */
export function readQuery(packet: Buffer): ReadQuery {
  if (packet.length < headerBytes) return { kind: 'drop' };
  const bits = packet.readUInt16BE(2);
  if ((bits & flags.response) !== 0) return { kind: 'drop' };
  const id = packet.readUInt16BE(0);
  const opcode = (bits >> 11) & 15;
  const recursionDesired = (bits & flags.recursionDesired) !== 0;
  const failed = (rcode: Rcode): ReadQuery => ({ kind: 'failed', id, rcode, opcode, recursionDesired });
  if (opcode !== 0) return failed(rcodes.notimp);
  const additionals = packet.readUInt16BE(10);
  const oneQuestion = packet.readUInt16BE(4) === 1 && packet.readUInt16BE(6) === 0 && packet.readUInt16BE(8) === 0;
  if (packet.length > queryBytesMax || !oneQuestion || additionals > additionalsMax) return failed(rcodes.formerr);
  const name = readLabels(packet, headerBytes);
  if (name === undefined || name.end + 4 > packet.length) return failed(rcodes.formerr);
  const end = name.end + 4;
  const edns = readAdditionals(packet, end, additionals);
  if (edns === 'bad') return failed(rcodes.formerr);
  if (packet.readUInt16BE(name.end + 2) !== classIn) return failed(rcodes.refused);
  return {
    kind: 'query',
    query: { id, recursionDesired, question: Buffer.from(packet.subarray(headerBytes, end)), name: name.text, type: packet.readUInt16BE(name.end), edns },
  };
}

/** Labels up to the root, without compression: nothing stands before the first question that a pointer could mean. */
function readLabels(packet: Buffer, start: number): { readonly text: string | undefined; readonly end: number } | undefined {
  const labels: string[] = [];
  let at = start;
  let printable = true;
  for (;;) {
    const length = packet[at];
    if (length === undefined || length > 63) return undefined;
    at += 1;
    if (length === 0) break;
    if (at + length > packet.length || at + length + 1 - start > nameBytesMax) return undefined;
    const label = packet.toString('latin1', at, at + length);
    if (!/^[!-\-/-~]+$/.test(label)) printable = false;
    labels.push(label);
    at += length;
  }
  return { text: printable ? labels.join('.') : undefined, end: at };
}

/** The OPT record, if there is one. Others (TSIG, SIG(0)) are stepped over; what does not end with the packet is malformed. */
function readAdditionals(packet: Buffer, start: number, count: number): Edns | undefined | 'bad' {
  let edns: Edns | undefined;
  let at = start;
  for (let index = 0; index < count; index += 1) {
    const root = packet[at] === 0;
    const end = nameEnd(packet, at);
    if (end === undefined || end + recordHeadBytes > packet.length) return 'bad';
    if (packet.readUInt16BE(end) === types.opt) {
      if (!root || edns !== undefined) return 'bad';
      edns = { payloadBytes: packet.readUInt16BE(end + 2), version: packet[end + 5] ?? 0 };
    }
    at = end + recordHeadBytes + packet.readUInt16BE(end + 8);
    if (at > packet.length) return 'bad';
  }
  return at === packet.length ? edns : 'bad';
}

/** Where a name ends that may close with a pointer. The pointer is not followed: nothing needs the name. */
function nameEnd(packet: Buffer, start: number): number | undefined {
  let at = start;
  for (;;) {
    const length = packet[at];
    if (length === undefined) return undefined;
    if (length === 0) return at + 1;
    if (length >= 0xc0) return at + 2;
    if (length > 63) return undefined;
    at += length + 1;
  }
}
