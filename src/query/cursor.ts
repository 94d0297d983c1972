import { createHash } from 'node:crypto';
import type { Micros } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import { isUuid } from '../kernel/ids.ts';

export type Order = 'asc' | 'desc';

/** The ordering triple of contract 2.1. */
export type RowKey = { readonly timestamp: Micros; readonly sourceSeq: number; readonly id: string };

/** What a cursor is bound to, beside its order: used with anything else it is refused. */
export type CursorBinding = { readonly orgId: string; readonly visibility: string; readonly filters: string; readonly from: Micros | undefined; readonly to: Micros | undefined };

const version = 1;
const keyBytes = 34;
const digestBytes = 12;
const charCount = Math.ceil(((keyBytes + digestBytes) * 4) / 3);

/** version, order, timestamp, source_seq, id; then a digest of these and of the binding, which finds damage and foreign use alike. */
function encodeKey(key: RowKey, order: Order): Buffer {
  const bytes = Buffer.alloc(keyBytes);
  bytes[0] = version;
  bytes[1] = order === 'asc' ? 0 : 1;
  bytes.writeBigInt64BE(BigInt(key.timestamp), 2);
  bytes.writeBigInt64BE(BigInt(key.sourceSeq), 10);
  bytes.write(key.id.replaceAll('-', ''), 18, 'hex');
  return bytes;
}

function digestOf(binding: CursorBinding, bytes: Buffer): Buffer {
  const bound = JSON.stringify([binding.orgId, binding.visibility, binding.filters, binding.from ?? null, binding.to ?? null]);
  return createHash('sha256').update(bytes).update(bound).digest().subarray(0, digestBytes);
}

/** An opaque text of 62 base64url characters that stands right behind `key`. */
export function encodeCursor(binding: CursorBinding, order: Order, key: RowKey): string {
  const bytes = encodeKey(key, order);
  return Buffer.concat([bytes, digestOf(binding, bytes)]).toString('base64url');
}

function invalid(why: string): AppError {
  return new AppError('invalid_cursor', `cursor: ${why}`);
}

/** @throws AppError invalid_cursor when the text is damaged, not canonical, or was given out for another org, caller, filter, window or order */
export function decodeCursor(binding: CursorBinding, order: Order, text: string): RowKey {
  if (text.length !== charCount) throw invalid('not one of ours');
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== keyBytes + digestBytes || bytes.toString('base64url') !== text) throw invalid('not one of ours');
  if (bytes[0] !== version) throw invalid('of another version; start again from the first page');
  const keyPart = bytes.subarray(0, keyBytes);
  if (!digestOf(binding, keyPart).equals(bytes.subarray(keyBytes))) throw invalid('damaged, or given out for other parameters; pass it back verbatim with the same ones');
  if (bytes[1] !== (order === 'asc' ? 0 : 1)) throw invalid('given out for the other order');
  const hex = keyPart.toString('hex', 18);
  const id = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  const timestamp = Number(keyPart.readBigInt64BE(2));
  const sourceSeq = Number(keyPart.readBigInt64BE(10));
  // The digest is not keyed: whoever reads this file can make a cursor, so its numbers are checked like any other input.
  if (!isUuid(id) || !(timestamp >= 0 && timestamp < 7_258_118_400_000_000) || !Number.isSafeInteger(sourceSeq)) throw invalid('holds no row');
  return { timestamp, sourceSeq, id };
}
