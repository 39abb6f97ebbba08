-- How buckets are slowed down and climb back, shared by every script: the arithmetic of pace.py.
-- KEYS: each bucket's hash and its tickets. All times in microseconds on the server's clock.
local SECOND = 1000000
local STEP = 1 / 8
local WINDOW = 30 * SECOND
local KEPT = 60 * SECOND
local KEPT_SLOWED = 3600 * SECOND
local LONGEST_KEPT = 366 * 86400 * SECOND
-- A hash's fields that are times, but for the era. `seen` is when a script last wrote any of them.
local TIMES = {'seen', 'at', 'blocked_until', 'window_at', 'failing_at', 'used_at', 'used_since'}
-- The pace of a bucket that nobody has slowed down. Never written to.
local AS_SET = {era = 0, value = 1, row = 0, opened = 0}

-- The hash that a bucket lives in, and the sorted set of its tickets by the time they are due.
local function keys_of(index)
  return KEYS[2 * index - 1], KEYS[2 * index]
end

-- Keep a bucket until it is full and open again, and a while longer: it would start empty anew, and
-- at its full rate.
local function keep(hash, fill, blocked, era)
  local longer = era > 0 and KEPT_SLOWED or KEPT
  local lives = math.min(math.max(fill, blocked) + longer, LONGEST_KEPT)
  -- Milliseconds, rounded up.
  redis.call('PEXPIRE', hash, math.ceil(lives / 1000))
end

-- Keep a bucket whose terms this call does not name.
local function keep_as_it_is(hash, pace, blocked_until, at)
  -- Some time was written down, which counts from now.
  redis.call('HSET', hash, 'seen', at)
  -- The terms of the last claim; none when a flush took them.
  local held = redis.call('HMGET', hash, 'rate', 'burst')
  local fill = held[1] and held[2] / (held[1] * pace.value) * SECOND or 0
  keep(hash, fill, blocked_until - at, pace.era)
end

-- The clock was set back: whatever lies ahead stays as far ahead as it was when the bucket was seen
-- last. Eras stay: they are names, and grants that went out carry them.
local function set_back(hash, tickets, by)
  -- Each time that the hash holds.
  local held = redis.call('HMGET', hash, unpack(TIMES))
  for index, name in ipairs(TIMES) do
    if held[index] then
      -- Exact: whole microseconds.
      redis.call('HSET', hash, name, held[index] - by)
    end
  end
  -- Each ticket and when it is due.
  local due = redis.call('ZRANGE', tickets, 0, -1, 'WITHSCORES')
  for index = 1, #due, 2 do
    -- All by as much: the order stays.
    redis.call('ZADD', tickets, due[index + 1] - by, due[index])
  end
end

-- Some fields of a bucket. Every script reads through here first, so that no time that it compares
-- or writes is one of a clock that was set back since.
local function read(hash, tickets, at, ...)
  -- When the bucket was seen last, before what is asked for.
  local held = redis.call('HMGET', hash, 'seen', ...)
  local by = tonumber(held[1] or 0) - at
  if by > 0 then
    set_back(hash, tickets, by)
    -- The same, moved.
    held = redis.call('HMGET', hash, 'seen', ...)
  end
  table.remove(held, 1)
  return held
end

-- The pace of a bucket; `era` is when it was slowed down last, as its hash has it.
local function read_pace(hash, era)
  if not era then
    return AS_SET
  end
  -- Of a bucket that climbed back the eras alone are left.
  local held = redis.call('HMGET', hash, 'pace', 'row', 'window_at', 'window_used', 'outage',
    'opened')
  return {era = tonumber(era), value = tonumber(held[1] or 1), row = tonumber(held[2] or 0),
    window_at = tonumber(held[3] or 0), window_used = held[4] == '1', outage = held[5] == '1',
    opened = tonumber(held[6] or 0)}
end

-- Whether there is something to climb back from.
local function is_slow(pace)
  return pace.value < 1 or pace.row > 0
end

-- Write a pace down.
local function write_pace(hash, pace)
  if is_slow(pace) then
    redis.call('HSET', hash, 'era', pace.era, 'pace', pace.value, 'row', pace.row,
      'window_at', pace.window_at, 'window_used', pace.window_used and 1 or 0,
      'outage', pace.outage and 1 or 0, 'opened', pace.opened)
  else
    -- The eras stay: answers to older requests are no news.
    redis.call('HDEL', hash, 'pace', 'row', 'window_at', 'window_used', 'outage')
  end
end

-- A step up for a clean window, unless nothing was granted in it: it proves nothing. Nor does a
-- grant that is yet to be answered, after an outage.
local function climb(hash, pace, blocked_until, at)
  if not is_slow(pace) or pace.outage then
    return
  end
  if at < math.max(pace.window_at, blocked_until) + WINDOW then
    return
  end
  if pace.window_used then
    pace.value, pace.row = math.min(1, pace.value + STEP), 0
  end
  pace.window_at, pace.window_used = at, false
  write_pace(hash, pace)
end

-- Close a bucket until then; whoever was promised a token asks anew. A longer block stands.
local function close_until(hash, tickets, blocked_until, until_)
  if until_ <= blocked_until then
    return blocked_until
  end
  redis.call('HSET', hash, 'blocked_until', until_)
  -- What was promised is void.
  redis.call('DEL', tickets)
  return until_
end

-- A person ends a block. What is left of it is void, and so is what is told of it later.
local function open_now(hash, at)
  redis.call('HSET', hash, 'blocked_until', at)
  return at
end

-- Put back what a process has heard of a slowdown, where a flush took it from here. Answers pace,
-- block, and whether the pace was lost.
local function recall(hash, tickets, heard, pace, blocked_until, at)
  if heard == '' then
    return pace, blocked_until, false
  end
  local era, until_, rest, value, row, outage, opened = string.match(heard,
    '(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)')
  era, opened = tonumber(era), tonumber(opened)
  -- What is left by the process's own clock, which is never set back.
  until_ = math.min(tonumber(until_), at + tonumber(rest))
  local lost = era > pace.era
  if lost then
    if pace.era < opened and blocked_until > at then
      -- An old snapshot's.
      blocked_until = open_now(hash, at)
    end
    pace = {era = era, value = tonumber(value), row = tonumber(row), window_at = at,
      window_used = false, outage = outage == '1', opened = math.max(opened, pace.opened)}
    write_pace(hash, pace)
    -- A slowdown empties its bucket.
    redis.call('HSET', hash, 'era', era, 'tokens', 0, 'opened', pace.opened)
  end
  if until_ > at and era >= pace.opened then
    blocked_until = close_until(hash, tickets, blocked_until, until_)
  end
  return pace, blocked_until, lost
end

-- Add what a process is to keep in mind of a bucket, from `place` on. A fraction goes as text: a
-- number would lose it on the way.
local function describe(told, place, pace, blocked_until)
  told[place], told[place + 1] = pace.era, blocked_until
  told[place + 2], told[place + 3] = string.format('%.17g', pace.value), pace.row
  told[place + 4], told[place + 5] = pace.outage and 1 or 0, pace.opened
end
