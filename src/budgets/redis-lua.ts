/**
 * The scripts of the Redis store; each runs whole, alone, over all counters and both scopes of one request.
 *
 * Keys, all under the workspace's hash tag, so that they share a slot:
 *   KEYS[1] ch:budget:{ws}:holds      hash   `hold <id>` → record (JSON); `held <key> <field> <start>` → held in that window;
 *                                            `flight <field>` → holds in flight of a counter with `max_concurrent`
 *   KEYS[2] ch:budget:{ws}:expiry     zset   `h:<id>` a live hold, by when it expires; `x:<id>` an expired one, by when it is forgotten
 *   KEYS[3] ch:budget:{ws}:workspace  hash   `<capability>/<counter>` → `<start ms> <used>`
 *   KEYS[4] ch:budget:{ws}:task:<id>  hash   the same for a task
 *
 * A window is named by its start, and ends at start + ttl by the ttl of whoever asks, so a changed policy needs no migration. A window
 * that has ended counts as absent; the next reserve or charge starts a new one, a settle never does.
 *
 * The first two keys live as long as the last hold and one hour more, always extended together: held totals go with their holds. The
 * others live until their last window has ended; with a counter that never resets they stay.
 *
 * Lua's numbers are doubles, so amounts are pairs {high, low} in base 10^10, exact far beyond int64. In `used` they stop at int64's end.
 */
const preludeLua = `
local base = 1e10
local function big(digits)
  local cut = #digits - 10
  if cut <= 0 then return { 0, tonumber(digits) } end
  return { tonumber(string.sub(digits, 1, cut)), tonumber(string.sub(digits, cut + 1)) }
end
local function plain(number) return string.format('%.0f', number) end
local function digits(a)
  if a[1] == 0 then return plain(a[2]) end
  return string.format('%.0f%010.0f', a[1], a[2])
end
local function less(a, b) return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2]) end
local function add(a, b)
  local low = a[2] + b[2]
  if low >= base then return { a[1] + b[1] + 1, low - base } end
  return { a[1] + b[1], low }
end
local zero, int64Max = { 0, 0 }, big('9223372036854775807')
local function subtract(a, b)
  if less(a, b) then return zero end
  local low = a[2] - b[2]
  if low < 0 then return { a[1] - b[1] - 1, low + base } end
  return { a[1] - b[1], low }
end
local function capped(a) if less(int64Max, a) then return int64Max end return a end

local marginMs, lateMs = 60000, tonumber(ARGV[2])
-- Redis' own clock: proxies' clocks differ. Tests give a time.
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- Start (text; nil when no window runs) and used.
local function window(scope)
  local value = redis.call('HGET', scope.key, scope.field)
  if not value then return nil, zero end
  local start, used = string.match(value, '^(%d+) (%d+)$')
  if scope.ttl ~= '' and now >= tonumber(start) + tonumber(scope.ttl) then return nil, zero end
  return start, big(used)
end
local function writeWindow(scope, start, used)
  local lifeMs = redis.call('PTTL', scope.key)
  redis.call('HSET', scope.key, scope.field, start .. ' ' .. digits(used))
  if scope.ttl == '' then
    if lifeMs >= 0 then redis.call('PERSIST', scope.key) end
  elseif lifeMs ~= -1 then
    -- -1 is a key that another counter made stay; -2 one that this write has made.
    local wantedMs = tonumber(start) + tonumber(scope.ttl) - now + marginMs
    if lifeMs < wantedMs then redis.call('PEXPIRE', scope.key, plain(wantedMs)) end
  end
end

local function heldField(scope, start) return 'held ' .. scope.key .. ' ' .. scope.field .. ' ' .. start end
local function heldIn(scope, start)
  if not start then return zero end
  return big(redis.call('HGET', KEYS[1], heldField(scope, start)) or '0')
end
local function inFlight(counter) return tonumber(redis.call('HGET', KEYS[1], 'flight ' .. counter.field) or '0') end

-- Takes what a hold holds off the totals; fields at zero go, so that nothing stays of an idle workspace.
local function giveBack(record)
  for _, counter in ipairs(record) do
    if counter.limit ~= '0' and redis.call('HINCRBY', KEYS[1], 'flight ' .. counter.field, -1) <= 0 then
      redis.call('HDEL', KEYS[1], 'flight ' .. counter.field)
    end
    for _, scope in ipairs(counter.scopes) do
      local left = subtract(heldIn(scope, scope.start), big(counter.amount))
      if less(zero, left) then redis.call('HSET', KEYS[1], heldField(scope, scope.start), digits(left))
      else redis.call('HDEL', KEYS[1], heldField(scope, scope.start)) end
    end
  end
end

-- Removals come before writes: after one, Redis takes the rest also when it is out of memory, and no script is left half done.
local due = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', plain(now), 'WITHSCORES')
for index = 1, #due, 2 do
  local kind, id, forgetMs = string.sub(due[index], 1, 2), string.sub(due[index], 3), tonumber(due[index + 1]) + lateMs
  redis.call('ZREM', KEYS[2], due[index])
  local record = kind == 'h:' and redis.call('HGET', KEYS[1], 'hold ' .. id)
  if record then giveBack(cjson.decode(record)) end
  if record and forgetMs > now then redis.call('ZADD', KEYS[2], plain(forgetMs), 'x:' .. id)
  else redis.call('HDEL', KEYS[1], 'hold ' .. id) end
end

local function keepHolds(holdMs)
  local wantedMs = holdMs + lateMs + marginMs
  for index = 1, 2 do
    if redis.call('PTTL', KEYS[index]) < wantedMs then redis.call('PEXPIRE', KEYS[index], plain(wantedMs)) end
  end
end

-- For each counter: name, in flight ('' without max_concurrent), then kind, max, used, held and end ('' for none) of each scope.
local function states(counters)
  local answer = {}
  for _, counter in ipairs(counters) do
    local state = { counter.name, counter.limit == '0' and '' or plain(inFlight(counter)) }
    for _, scope in ipairs(counter.scopes) do
      local start, used = window(scope)
      local ends = (start and scope.ttl ~= '') and plain(tonumber(start) + tonumber(scope.ttl)) or ''
      for _, value in ipairs({ scope.kind, scope.max, digits(used), digits(heldIn(scope, start)), ends }) do state[#state + 1] = value end
    end
    answer[#answer + 1] = state
  end
  return answer
end
`;

/**
 * ARGV time, late, 'reserve' or 'charge', hold id, hold life in ms, counters. The counters are JSON, in the order they are checked:
 * {name, field, amount, limit (max_concurrent), scopes: [{kind, key, field, max, ttl}]}, numbers as text (cjson would round them).
 * Answers {'exhausted', limit, counter, scope, ms to the window's end} or {'done', states}. Checks everything, then writes.
 */
export const openLua = `${preludeLua}
local counters = cjson.decode(ARGV[6])
for _, counter in ipairs(counters) do
  local amount = big(counter.amount)
  for _, scope in ipairs(counter.scopes) do
    local start, used = window(scope)
    scope.start, scope.used = start, used
    local max, taken = big(scope.max), add(used, heldIn(scope, start))
    if less(zero, max) and (not less(taken, max) or less(max, add(taken, amount))) then
      local ends = (start and scope.ttl ~= '') and plain(tonumber(start) + tonumber(scope.ttl) - now) or ''
      return { 'exhausted', 'budget', counter.name, scope.kind, ends }
    end
  end
  if counter.limit ~= '0' and inFlight(counter) >= tonumber(counter.limit) then return { 'exhausted', 'concurrency', counter.name, '', '' } end
end
local charge = ARGV[3] == 'charge'
for _, counter in ipairs(counters) do
  local amount = big(counter.amount)
  for _, scope in ipairs(counter.scopes) do
    local used, starts = scope.used, not scope.start
    scope.start, scope.used = scope.start or plain(now), nil
    if charge then writeWindow(scope, scope.start, capped(add(used, amount)))
    else
      if starts then writeWindow(scope, scope.start, zero) end
      if less(zero, amount) then redis.call('HSET', KEYS[1], heldField(scope, scope.start), digits(add(heldIn(scope, scope.start), amount))) end
    end
  end
  if not charge and counter.limit ~= '0' then redis.call('HINCRBY', KEYS[1], 'flight ' .. counter.field, 1) end
end
if charge then return { 'done', states(counters) } end
redis.call('HSET', KEYS[1], 'hold ' .. ARGV[4], cjson.encode(counters))
redis.call('ZADD', KEYS[2], plain(now + tonumber(ARGV[5])), 'h:' .. ARGV[4])
keepHolds(tonumber(ARGV[5]))
return { 'done', {} }
`;

/** ARGV time, late, hold id, hold life in ms. Answers 1, or 0 when the hold is not live any more. */
export const renewLua = `${preludeLua}
if not redis.call('ZSCORE', KEYS[2], 'h:' .. ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[2], plain(now + tonumber(ARGV[4])), 'h:' .. ARGV[3])
keepHolds(tonumber(ARGV[4]))
return 1
`;

/**
 * ARGV time, late, hold id, debits (JSON, counter → digits; `{}` to release). Answers the states, none for a hold that is not known.
 * A debit goes to the window in which the hold opened; when that has ended it is nobody's any more. Debts stay: `used` may pass `max`.
 */
export const endLua = `${preludeLua}
local text = redis.call('HGET', KEYS[1], 'hold ' .. ARGV[3])
if not text then return {} end
local record, debits = cjson.decode(text), cjson.decode(ARGV[4])
redis.call('HDEL', KEYS[1], 'hold ' .. ARGV[3])
if redis.call('ZREM', KEYS[2], 'h:' .. ARGV[3]) == 1 then giveBack(record) else redis.call('ZREM', KEYS[2], 'x:' .. ARGV[3]) end
for _, counter in ipairs(record) do
  local debit = big(debits[counter.name] or '0')
  for _, scope in ipairs(counter.scopes) do
    local start, used = window(scope)
    if start == scope.start and less(zero, debit) then writeWindow(scope, start, capped(add(used, debit))) end
  end
end
return states(record)
`;
