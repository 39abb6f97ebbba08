-- A request had no good answer: enough distinct tasks' are a slowdown. Nothing is answered while it
-- is not enough.
-- ARGV: what was heard, the era told, the task, how many are enough, the jitter.
local FIRST = 5 * SECOND
local FORGOTTEN = 60 * SECOND
local hash, tickets = keys_of(1)
local at = now()
local pace, blocked_until = look_up(hash, tickets, ARGV[1], at)
local task, enough, jitter = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])

-- Count the failing task; how many distinct ones that makes.
local function count()
  -- Their ids, spaces between them, and when the first of them failed.
  local held = redis.call('HMGET', hash, 'failing', 'failing_at')
  local failing, since = held[1], held[2]
  if not failing or at - since > FORGOTTEN then
    failing, since = task, at
  elseif not string.find(' ' .. failing .. ' ', ' ' .. task .. ' ', 1, true) then
    failing = failing .. ' ' .. task
  end
  redis.call('HSET', hash, 'failing', failing, 'failing_at', since)
  local _, spaces = string.gsub(failing, ' ', '')
  return spaces + 1
end

if tonumber(ARGV[2]) < pace.era then
  return blocked_until > at and event(false, pace, blocked_until, at) or {}
end
if not pace.outage and count() < enough then
  keep_as_it_is(hash, pace, blocked_until, at)
  return {}
end
return slow_down(hash, tickets, pace, blocked_until, at, backoff(pace, FIRST, jitter), true)
