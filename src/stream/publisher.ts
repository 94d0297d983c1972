import { connectRedis, redisProblem } from './redis-connection.ts';
import { inlineData, streamKey } from './entry.ts';

export type Publication = {
  /** Commit seq of the batch. */
  readonly seq: number;
  readonly batchId: string;
  /** RFC 3339, microseconds. */
  readonly minTimestamp: string;
  readonly maxTimestamp: string;
  /** Orgs with rows in the batch. Without `lines` (stored lines, stamped) the entry is a pointer and hubs read the store. */
  readonly orgs: readonly { readonly orgId: string; readonly rows: number; readonly lines?: readonly string[] }[];
};

export type StreamPublisher = {
  /**
   * Adds one entry to the stream of each org. Idempotent: orgs that already have the entry (or a later one) count as `repeated`.
   * Rejects with StreamPublishError when Redis is away, out of memory or slower than its timeout; publishing again is then always right.
   * Calls for different commits must come one after the other in ascending seq: an entry cannot be added before a later one.
   */
  publish(publication: Publication): Promise<{ readonly added: number; readonly repeated: number }>;
  close(): Promise<void>;
};

export class StreamPublishError extends Error {
  constructor(publication: Publication, cause: unknown) {
    super(`commit ${publication.seq} (batch ${publication.batchId}) could not be published: ${redisProblem(cause)}`, { cause });
    this.name = 'StreamPublishError';
  }
}

// KEYS[1] stream; ARGV: seq, batch_id, rows, min, max, data, entries to keep, seconds to live. Answers 1 when added, 0 when already there.
// XADD refuses an id "equal or smaller" than any the stream ever had, also when XREVRANGE no longer shows that entry.
const addEntry = `
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
local prev = '0'
if last[1] then prev = string.match(last[1][1], '^%d+') end
local entry = {'prev', prev, 'batch_id', ARGV[2], 'rows', ARGV[3], 'min_timestamp', ARGV[4], 'max_timestamp', ARGV[5]}
if ARGV[6] ~= '' then entry[#entry + 1] = 'data'; entry[#entry + 1] = ARGV[6] end
local added = redis.pcall('XADD', KEYS[1], 'MAXLEN', '~', ARGV[7], ARGV[1] .. '-0', unpack(entry))
if type(added) == 'table' and added.err then
  if string.find(added.err, 'equal or smaller', 1, true) then return 0 end
  return redis.error_reply(added.err)
end
redis.call('EXPIRE', KEYS[1], ARGV[8])
return 1
`;

/** Bounds the bytes of one pipeline: 64 entries of at most 32 KiB. */
const orgsPerPipeline = 64;

/**
 * Publishes commits to the Redis streams of their orgs (design 5). Crash points: before the call, the commit is in the ledger as not
 * published, and the next commit publishes it as a pointer; between two orgs or before the ledger is marked, it is published again and
 * the orgs that have it refuse it. A stream that Redis lost starts anew with `prev` 0, which sends hubs to the ledger.
 */
export function createStreamPublisher(deps: { redisUrl: string; onError: (error: unknown) => void; timeoutMs?: number; entriesMax?: number; expireSeconds?: number }): StreamPublisher {
  const { entriesMax = 1000, expireSeconds = 3600, timeoutMs = 5000 } = deps;
  const redis = connectRedis(deps.redisUrl, 'stream-publisher', { commandTimeout: timeoutMs }, deps.onError);

  async function addAll(publication: Publication, orgs: Publication['orgs']): Promise<number> {
    const { seq, batchId, minTimestamp, maxTimestamp } = publication;
    const pipeline = redis.pipeline();
    for (const { orgId, rows, lines } of orgs) {
      const data = (lines === undefined ? undefined : inlineData(lines)) ?? '';
      pipeline.eval(addEntry, 1, streamKey(orgId), seq, batchId, rows, minTimestamp, maxTimestamp, data, entriesMax, expireSeconds);
    }
    const replies = await pipeline.exec();
    if (replies === null) throw new Error('the pipeline was not run');
    let added = 0;
    for (const [error, reply] of replies) {
      if (error !== null) throw error;
      added += Number(reply);
    }
    return added;
  }

  return {
    async publish(publication) {
      if (!Number.isSafeInteger(publication.seq) || publication.seq < 1) throw new RangeError(`publish: seq ${publication.seq} is not a commit seq`);
      let added = 0;
      try {
        for (let at = 0; at < publication.orgs.length; at += orgsPerPipeline) {
          added += await addAll(publication, publication.orgs.slice(at, at + orgsPerPipeline));
        }
      } catch (error) {
        throw new StreamPublishError(publication, error);
      }
      return { added, repeated: publication.orgs.length - added };
    },
    async close() {
      redis.disconnect();
    },
  };
}
