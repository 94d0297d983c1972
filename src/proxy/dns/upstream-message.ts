import { randomBytes, randomInt } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { decode } from 'dns-packet';
import type { Answer } from 'dns-packet';
import { readIPv6 } from '../../kernel/host.ts';
import { ResolveError } from './resolution.ts';
import type { Resolution } from './resolution.ts';
import type { AddressType } from './wire.ts';
import { classIn, ednsPayloadBytes, flags, headerBytes, rcodes, types } from './wire.ts';

/** A query to an upstream server and the bytes by which its answer is known. */
export type UpstreamQuery = { readonly packet: Buffer; readonly question: Buffer; readonly name: string; readonly type: AddressType };

const aliasesMax = 8;
const addressesMax = 128;

/** Random id, and random case of the name's letters (0x20): together with the random port, what an off-path forger has to guess. */
export function upstreamQuery(name: string, type: AddressType): UpstreamQuery {
  const bits = randomBytes(name.length);
  const mixed = [...name].map((letter, index) => (((bits[index] ?? 0) & 1) === 1 ? letter.toUpperCase() : letter)).join('');
  const labels = mixed.split('.').flatMap((label) => [Buffer.of(label.length), Buffer.from(label, 'latin1')]);
  const question = Buffer.concat([...labels, Buffer.of(0, 0, types[type === 'A' ? 'a' : 'aaaa'], 0, classIn)]);
  const head = Buffer.alloc(headerBytes);
  head.writeUInt16BE(randomInt(65_536), 0);
  head.writeUInt16BE(flags.recursionDesired, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(1, 10);
  const opt = Buffer.alloc(11);
  opt.writeUInt16BE(types.opt, 1);
  opt.writeUInt16BE(ednsPayloadBytes, 3);
  return { packet: Buffer.concat([head, question, opt]), question, name, type };
}

/** `caseLost`: everything is right but the case of the letters; over UDP this may be a forgery, so it only counts when TCP says the same. */
export type AnswerMatch = 'match' | 'caseLost' | 'other';

export function matchAnswer(query: UpstreamQuery, packet: Buffer): AnswerMatch {
  const end = headerBytes + query.question.length;
  if (packet.length < end || packet.readUInt16BE(0) !== query.packet.readUInt16BE(0)) return 'other';
  if ((packet.readUInt16BE(2) & (flags.response | 0x7800)) !== flags.response || packet.readUInt16BE(4) !== 1) return 'other';
  const question = packet.subarray(headerBytes, end);
  if (question.equals(query.question)) return 'match';
  return lowered(question).equals(lowered(query.question)) ? 'caseLost' : 'other';
}

/** Only letters: a length byte is below 64, and none of type and class is one. */
function lowered(question: Buffer): Buffer {
  return Buffer.from(question.map((byte) => (byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte)));
}

export function isTruncated(packet: Buffer): boolean {
  return (packet.readUInt16BE(2) & flags.truncated) !== 0;
}

/** Reads an answer that `matchAnswer` took. Throws ResolveError. */
export function readResolution(query: UpstreamQuery, packet: Buffer): Resolution {
  const rcode = packet.readUInt16BE(2) & 15;
  if (rcode !== rcodes.noerror && rcode !== rcodes.nxdomain) throw new ResolveError('servfail');
  const found = addressesOf(query, answersOf(packet));
  const named = rcode === rcodes.nxdomain ? 'NXDOMAIN' : 'NOERROR';
  return { rcode: named, ...(named === 'NXDOMAIN' ? { addresses: [], ttlSeconds: 0 } : found) };
}

function answersOf(packet: Buffer): readonly Answer[] {
  try {
    return decode(packet).answers ?? [];
  } catch (error) {
    throw new ResolveError('malformed', { cause: error });
  }
}

/** Follows the aliases from the name asked for; records of other names in the answer are not looked at. The TTL is the least on the way. */
function addressesOf({ name, type }: UpstreamQuery, answers: readonly Answer[]): { readonly addresses: readonly string[]; readonly ttlSeconds: number } {
  let owner = name;
  let ttlSeconds = Number.POSITIVE_INFINITY;
  for (let step = 0; step <= aliasesMax; step += 1) {
    const own = answers.filter((answer) => answer.name.toLowerCase() === owner);
    const addresses = new Set<string>();
    for (const answer of own) {
      if (answer.type !== type || typeof answer.data !== 'string') continue;
      addresses.add(canonical(answer.data));
      ttlSeconds = Math.min(ttlSeconds, answer.ttl ?? 0);
    }
    if (addresses.size > 0) return { addresses: [...addresses].slice(0, addressesMax), ttlSeconds };
    const alias = own.find((answer) => answer.type === 'CNAME');
    if (alias?.type !== 'CNAME') return { addresses: [], ttlSeconds: 0 };
    ttlSeconds = Math.min(ttlSeconds, alias.ttl ?? 0);
    owner = alias.data.toLowerCase();
  }
  throw new ResolveError('malformed');
}

function canonical(address: string): string {
  if (isIPv4(address)) return address;
  const host = readIPv6(address);
  if ('refused' in host) throw new ResolveError('malformed');
  return host.text;
}
