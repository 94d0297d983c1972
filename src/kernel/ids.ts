import { randomFillSync } from 'node:crypto';

const pool = new Uint8Array(8192);
let poolAt = pool.length;
let lastMs = 0;
let sequence = 0;

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The id of the platform's own org: rows that no tenant can be named for (a proxy request without a usable token). */
export const platformOrgId = '00000000-0000-0000-0000-000000000000';

function randomBytes(count: number): Uint8Array {
  if (poolAt + count > pool.length) {
    randomFillSync(pool);
    poolAt = 0;
  }
  poolAt += count;
  return pool.subarray(poolAt - count, poolAt);
}

/**
 * A UUIDv7 (RFC 9562): 48 bits of Unix milliseconds, then a 12-bit counter so that ids of one process ascend also within a
 * millisecond, then 62 random bits. When the counter is used up the millisecond is borrowed from the future.
 */
export function uuidv7(nowMs: number = Date.now()): string {
  if (nowMs > lastMs) {
    lastMs = nowMs;
    sequence = 0;
  } else {
    sequence += 1;
    if (sequence > 0xfff) {
      lastMs += 1;
      sequence = 0;
    }
  }
  const time = lastMs.toString(16).padStart(12, '0');
  const counter = sequence.toString(16).padStart(3, '0');
  const random = Buffer.from(randomBytes(8));
  random[0] = 0x80 | ((random[0] ?? 0) & 0x3f);
  const tail = random.toString('hex');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${tail.slice(0, 4)}-${tail.slice(4)}`;
}

/** True for a lower-case UUID of any version, and for the nil UUID. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text) || text === platformOrgId;
}

/** Unix milliseconds held in a UUIDv7, or undefined when the id is of another version. */
export function uuidv7Millis(id: string): number | undefined {
  return isUuid(id) && id[14] === '7' ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : undefined;
}
