-- A source said «slower»: the first of an event slows it down, the others may prolong the block.
-- ARGV: what was heard, the era told, for how long the source said (empty: it did not), the jitter.
local NAMED = 1 * SECOND
local UNNAMED = 30 * SECOND
local hash, tickets = keys_of(1)
local at = now()
local pace, blocked_until = look_up(hash, tickets, ARGV[1], at)
local named, jitter = tonumber(ARGV[3]), tonumber(ARGV[4])
if tonumber(ARGV[2]) >= pace.era then
  local least = backoff(pace, named and NAMED or UNNAMED, jitter)
  return slow_down(hash, tickets, pace, blocked_until, at, math.max(named or 0, least), false)
end
if tonumber(ARGV[2]) < pace.opened then
  -- It is of what a person ended meanwhile.
  named = 0
end
local until_ = close_until(hash, tickets, blocked_until, at + (named or 0))
if until_ > blocked_until and is_slow(pace) then
  -- The window begins anew when the longer block ends.
  redis.call('HSET', hash, 'window_at', until_, 'window_used', 0)
end
keep_as_it_is(hash, pace, until_, at)
return event(false, pace, until_, at)
