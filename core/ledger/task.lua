-- What the ledger knows of one task, shared by the scripts that begin with it.
-- KEYS: the task's hash, its source's leased and delayed tasks by time.
-- ARGV: the task's id, generation and serial, then each script's own. Times in microseconds.
local KEPT = 7 * 86400 * 1000000
local hash, leased, delayed = KEYS[1], KEYS[2], KEYS[3]
local id, generation, serial = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

-- Forget the task altogether.
local function forget()
  -- Its counts, serial and lease,
  redis.call('DEL', hash)
  -- its place among the leased
  redis.call('ZREM', leased, id)
  -- and among the delayed.
  redis.call('ZREM', delayed, id)
end

-- What is known; nil when that is nothing, or of an older generation, which is over.
local function known()
  local held = redis.call('HMGET', hash, 'generation', 'serial', 'attempts', 'crashes', 'cleared',
    'not_before', 'token', 'lease_until', 'run_id')
  if not held[1] then
    return nil
  end
  local entry = {generation = tonumber(held[1]), serial = tonumber(held[2]),
    attempts = tonumber(held[3]), crashes = tonumber(held[4]), cleared = tonumber(held[5]),
    not_before = held[6] and tonumber(held[6]), token = held[7],
    lease_until = tonumber(held[8] or 0), run_id = held[9]}
  if entry.generation < generation then
    forget()
    return nil
  end
  return entry
end

-- An entry for a task that nothing is known of.
local function unknown()
  return {generation = generation, serial = serial, attempts = 0, crashes = 0, cleared = 0,
    not_before = false, token = false, lease_until = 0}
end

-- The crashes since the last progress.
local function standing(entry)
  return math.max(0, entry.crashes - entry.cleared)
end

-- Take in a copy's counts: the larger ones. A newer copy's leave the cleared crashes out already.
local function absorb(entry, attempts, crashes)
  entry.attempts = math.max(entry.attempts, attempts)
  if serial > entry.serial then
    entry.crashes, entry.cleared, entry.serial = standing(entry), 0, serial
  end
  entry.crashes = math.max(entry.crashes, crashes)
end

-- Write an entry's counts and times back, to be kept for `lives` and a week.
local function save(entry, lives)
  -- Generation, serial and counts.
  redis.call('HSET', hash, 'generation', entry.generation, 'serial', entry.serial,
    'attempts', entry.attempts, 'crashes', entry.crashes, 'cleared', entry.cleared)
  if entry.not_before then
    -- The time before which no copy of this serial runs.
    redis.call('HSET', hash, 'not_before', entry.not_before)
  end
  -- Whatever nobody finishes goes in the end.
  redis.call('PEXPIRE', hash, math.ceil((math.max(0, lives) + KEPT) / 1000))
end

-- Write the lease of `token`, told to this start of the server.
local function hold(token, at, length, run_id)
  -- In the task itself,
  redis.call('HSET', hash, 'token', token, 'lease_until', at + length, 'run_id', run_id)
  -- among the leased, for the depth,
  redis.call('ZADD', leased, at + length, id)
  -- where those that ran out are not counted.
  redis.call('ZREMRANGEBYSCORE', leased, '-inf', at)
end

-- End the lease.
local function let_go()
  -- In the task itself
  redis.call('HDEL', hash, 'token', 'lease_until', 'run_id')
  -- and among the leased.
  redis.call('ZREM', leased, id)
end

-- Count the task among the delayed.
local function rest_until(time, at)
  -- By the time it is due,
  redis.call('ZADD', delayed, time, id)
  -- after which it lies in its lane and is counted there.
  redis.call('ZREMRANGEBYSCORE', delayed, '-inf', at)
end
