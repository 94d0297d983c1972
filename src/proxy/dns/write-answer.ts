import { isIPv4 } from 'node:net';
import type { Query } from './read-query.ts';
import type { Rcode } from './wire.ts';
import { classIn, ednsPayloadBytes, flags, headerBytes, plainPayloadBytes, rcodes, types } from './wire.ts';

/** `addresses` are of the type asked for; `negativeTtlSeconds` puts an SOA there, which tells how long "there is none" may be kept. */
export type Answer = {
  readonly rcode: Rcode;
  readonly addresses: readonly string[];
  readonly ttlSeconds: number;
  readonly negativeTtlSeconds?: number;
};

export const refusedAnswer: Answer = { rcode: rcodes.refused, addresses: [], ttlSeconds: 0 };
export const servfailAnswer: Answer = { rcode: rcodes.servfail, addresses: [], ttlSeconds: 0 };

/** Where the name of the question stands in every answer; each record points at it, so that a long name is not repeated. */
const questionPointer = 0xc000 | headerBytes;

/** An answer over UDP is at most this many times its query, also where the client would take more: the rest goes over TCP. */
const amplificationMax = 10;

/** The longest UDP answer to a query of `queryBytes`. */
export function udpAnswerBytesMax(query: Query, queryBytes: number): number {
  const taken = query.edns === undefined ? plainPayloadBytes : Math.min(ednsPayloadBytes, Math.max(plainPayloadBytes, query.edns.payloadBytes));
  return Math.min(taken, queryBytes * amplificationMax);
}

/** Cut to the question with the TC bit where it is longer than `bytesMax`: no part of an address set goes out as if it were the whole. */
export function writeAnswer(query: Query, answer: Answer, bytesMax: number): Buffer {
  const opt = query.edns === undefined ? [] : [optRecord(answer.rcode)];
  const records = answer.addresses.map((address) => addressRecord(address, answer.ttlSeconds));
  const authority = answer.negativeTtlSeconds === undefined ? [] : [soaRecord(answer.negativeTtlSeconds)];
  const head = (bits: number, answers: number, authorities: number): Buffer => header(query, answer.rcode, bits, { questions: 1, answers, authorities, additionals: opt.length });
  const whole = Buffer.concat([head(0, records.length, authority.length), query.question, ...records, ...authority, ...opt]);
  return whole.length <= bytesMax ? whole : Buffer.concat([head(flags.truncated, 0, 0), query.question, ...opt]);
}

/** The answer to what could not be read as one question: its header with the code, nothing else. */
export function writeFailure(failure: { readonly id: number; readonly rcode: Rcode; readonly opcode: number; readonly recursionDesired: boolean }): Buffer {
  return header(failure, failure.rcode, failure.opcode << 11, { questions: 0, answers: 0, authorities: 0, additionals: 0 });
}

type Counts = { readonly questions: number; readonly answers: number; readonly authorities: number; readonly additionals: number };

function header({ id, recursionDesired }: { readonly id: number; readonly recursionDesired: boolean }, rcode: Rcode, bits: number, counts: Counts): Buffer {
  const buffer = Buffer.alloc(headerBytes);
  buffer.writeUInt16BE(id, 0);
  buffer.writeUInt16BE(flags.response | flags.recursionAvailable | bits | (recursionDesired ? flags.recursionDesired : 0) | (rcode & 15), 2);
  buffer.writeUInt16BE(counts.questions, 4);
  buffer.writeUInt16BE(counts.answers, 6);
  buffer.writeUInt16BE(counts.authorities, 8);
  buffer.writeUInt16BE(counts.additionals, 10);
  return buffer;
}

function record(type: number, ttlSeconds: number, data: Buffer): Buffer {
  const buffer = Buffer.alloc(12 + data.length);
  buffer.writeUInt16BE(questionPointer, 0);
  buffer.writeUInt16BE(type, 2);
  buffer.writeUInt16BE(classIn, 4);
  buffer.writeUInt32BE(ttlSeconds, 6);
  buffer.writeUInt16BE(data.length, 10);
  data.copy(buffer, 12);
  return buffer;
}

function addressRecord(address: string, ttlSeconds: number): Buffer {
  return isIPv4(address) ? record(types.a, ttlSeconds, Buffer.from(address.split('.').map(Number))) : record(types.aaaa, ttlSeconds, ipv6Bytes(address));
}

/** `address` is IPv6 text without zone and without embedded IPv4. */
function ipv6Bytes(address: string): Buffer {
  const [head = '', tail] = address.split('::');
  const groups = (text: string): number[] => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)));
  const left = groups(head);
  const right = tail === undefined ? [] : groups(tail);
  const buffer = Buffer.alloc(16);
  for (const [index, group] of left.entries()) buffer.writeUInt16BE(group, index * 2);
  for (const [index, group] of right.entries()) buffer.writeUInt16BE(group, 16 - (right.length - index) * 2);
  return buffer;
}

/** Owned by the name itself, `mname` the root: which zone a name is in is nobody's business here. */
function soaRecord(ttlSeconds: number): Buffer {
  const data = Buffer.alloc(22);
  data.writeUInt32BE(1, 2);
  for (const at of [6, 10, 14, 18]) data.writeUInt32BE(ttlSeconds, at);
  return record(types.soa, ttlSeconds, data);
}

function optRecord(rcode: Rcode): Buffer {
  const buffer = Buffer.alloc(11);
  buffer.writeUInt16BE(types.opt, 1);
  buffer.writeUInt16BE(ednsPayloadBytes, 3);
  buffer.writeUInt8(rcode >> 4, 5);
  return buffer;
}
