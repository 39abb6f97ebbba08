-- Slowing one bucket down: the arithmetic of pace.py and slowing.py, shared by throttled and failed.
local FLOOR = 1 / 64
local LONGEST = 300 * SECOND
local DOUBLINGS = 20

-- What comes of a report: whether it is news, how long the block still lasts, and how the bucket
-- stands.
local function event(is_news, pace, blocked_until, at)
  local told = {is_news and 1 or 0, math.max(0, blocked_until - at)}
  describe(told, 3, pace, blocked_until)
  return told
end

-- How long the next slowdown lasts at least: twice as long with each in a row.
local function backoff(pace, first, jitter)
  return math.ceil(math.min(LONGEST, first * 2 ^ math.min(pace.row, DOUBLINGS)) * jitter)
end

-- Close a bucket for at least `rest`. It opens empty, at half its pace.
local function slow_down(hash, tickets, pace, blocked_until, at, rest, outage)
  blocked_until = close_until(hash, tickets, blocked_until, at + rest)
  -- A clock set back must not make two slowdowns of one.
  local slowed = {era = math.max(at, pace.era + 1), value = math.max(FLOOR, pace.value / 2),
    row = pace.row + 1, window_at = blocked_until, window_used = false, outage = outage,
    opened = pace.opened}
  write_pace(hash, slowed)
  -- It fills when it opens.
  redis.call('HSET', hash, 'tokens', 0)
  -- Whatever failed is part of this one.
  redis.call('HDEL', hash, 'failing', 'failing_at')
  -- For people.
  redis.call('HINCRBY', hash, 'slowdowns', 1)
  keep_as_it_is(hash, slowed, blocked_until, at)
  return event(true, slowed, blocked_until, at)
end

-- One bucket: its pace, and until when it is blocked.
local function look_up(hash, tickets, heard, at)
  -- When it was slowed down last, and until when it is closed.
  local held = read(hash, tickets, at, 'era', 'blocked_until')
  local closed = tonumber(held[2] or 0)
  local pace, blocked_until, lost = recall(hash, tickets, heard, read_pace(hash, held[1]), closed,
    at)
  if lost or blocked_until > closed then
    -- It may have been made anew just now, whatever else this call has to say.
    keep_as_it_is(hash, pace, blocked_until, at)
  end
  return pace, blocked_until
end
