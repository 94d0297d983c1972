import type { Redis } from 'ioredis';

/**
 * The Lua scripts over a batch's keys: `ch:batch:<id>` (payload), `ch:batch:sizes` (hash id → bytes: the byte budget is its sum) and
 * `ch:done:<id>` (stored; the source may delete). Each runs whole or not at all.
 */
export const sizesKey = 'ch:batch:sizes';
export const payloadKey = (id: string): string => `ch:batch:${id}`;
export const doneKey = (id: string): string => `ch:done:${id}`;

/**
 * BullMQ cannot hand out a job when `maxmemory` is reached, so payloads must never be what fills it: a tenth stays free for the jobs
 * and streams that empty the queue again. INFO may be forbidden to us; the budget alone counts then.
 */
const memoryLua = `
local function memory()
  local info = redis.pcall('INFO', 'memory')
  if type(info) ~= 'string' then return 0, 0 end
  return tonumber(string.match(info, 'used_memory:(%d+)') or 0), tonumber(string.match(info, 'maxmemory:(%d+)') or 0)
end
`;

/**
 * KEYS payload, sizes, done; ARGV id, payload, byte budget, life in ms. Answers done, queued or over_budget.
 * A batch larger than the whole budget passes when it is alone: it could never leave its source otherwise.
 * Sizes whose payload has expired (a source that never came back) are forgotten before a batch is turned away.
 */
const enqueueLua = `${memoryLua}
if redis.call('EXISTS', KEYS[3]) == 1 then return 'done' end
if redis.call('EXISTS', KEYS[1]) == 1 then return 'queued' end
local function waiting()
  local total = 0
  for _, size in ipairs(redis.call('HVALS', KEYS[2])) do total = total + tonumber(size) end
  return total
end
local bytes, budget = #ARGV[2], tonumber(ARGV[3])
local total = waiting()
if total > 0 and total + bytes > budget then
  for _, id in ipairs(redis.call('HKEYS', KEYS[2])) do
    if redis.call('EXISTS', 'ch:batch:' .. id) == 0 then redis.call('HDEL', KEYS[2], id) end
  end
  total = waiting()
  if total > 0 and total + bytes > budget then return 'over_budget' end
end
local used, limit = memory()
if limit > 0 and used + bytes > limit * 0.9 then return 'over_budget' end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[4])
redis.call('HSET', KEYS[2], ARGV[1], bytes)
return 'queued'
`;

/** KEYS payload, sizes, done; ARGV id, life of the mark in ms. DEL comes first: after it Redis takes the SET also when it is out of memory. */
const finishLua = `
redis.call('DEL', KEYS[1])
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('SET', KEYS[3], '1', 'PX', ARGV[2])
`;

/**
 * KEYS sizes, then payload and job of each batch; ARGV ids. Answers 1 for each batch that has both.
 * When Redis is out of memory the newer half of the payloads is taken back from it, and counted as not queued: their sources keep them
 * and send them again, and the older half gets the memory it needs to pass through.
 */
const queuedLua = `${memoryLua}
local used, limit = memory()
local keep = #ARGV
if limit > 0 and used > limit then keep = math.floor(#ARGV / 2) end
local answers = {}
for index, id in ipairs(ARGV) do
  if index > keep then
    redis.call('DEL', KEYS[2 * index])
    redis.call('HDEL', KEYS[1], id)
  end
  answers[index] = math.min(redis.call('EXISTS', KEYS[2 * index]), redis.call('EXISTS', KEYS[2 * index + 1]))
end
return answers
`;

export type BatchScripts = {
  readonly enqueue: (id: string, payload: Buffer, budgetBytes: number, lifeMs: number) => Promise<string>;
  readonly finish: (id: string, lifeMs: number) => Promise<void>;
  readonly queued: (ids: readonly string[], jobKey: (id: string) => string) => Promise<boolean[]>;
  /** Takes a payload back that got no job. */
  readonly withdraw: (id: string) => Promise<void>;
};

export function createBatchScripts(redis: Redis): BatchScripts {
  // defineCommand sends the hash and, when Redis does not know it (restart, flush), the text.
  redis.defineCommand('chEnqueueBatch', { lua: enqueueLua, numberOfKeys: 3 });
  redis.defineCommand('chFinishBatch', { lua: finishLua, numberOfKeys: 3 });
  redis.defineCommand('chQueuedBatches', { lua: queuedLua });
  const scripts = redis as unknown as Record<string, (...args: (string | number | Buffer)[]) => Promise<unknown>>;
  const call = async (name: string, ...args: (string | number | Buffer)[]): Promise<unknown> => scripts[name]?.(...args);
  return {
    enqueue: async (id, payload, budgetBytes, lifeMs) => String(await call('chEnqueueBatch', payloadKey(id), sizesKey, doneKey(id), id, payload, budgetBytes, lifeMs)),
    async finish(id, lifeMs) {
      await call('chFinishBatch', payloadKey(id), sizesKey, doneKey(id), id, lifeMs);
    },
    async queued(ids, jobKey) {
      const keys = ids.flatMap((id) => [payloadKey(id), jobKey(id)]);
      return (await call('chQueuedBatches', 1 + keys.length, sizesKey, ...keys, ...ids) as number[]).map((answer) => answer === 1);
    },
    async withdraw(id) {
      await redis.multi().del(payloadKey(id)).hdel(sizesKey, id).exec();
    },
  };
}
