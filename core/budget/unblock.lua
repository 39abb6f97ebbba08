-- A person ends a block that began more than ARGV[2] microseconds ago. The pace stays, and climbs.
-- ARGV: what was heard, how long ago the person said so.
local hash, tickets = keys_of(1)
local at = now()
local pace, blocked_until = look_up(hash, tickets, ARGV[1], at)
-- An era that lies ahead is of a clock that was set back since.
local is_meant = pace.era < at - tonumber(ARGV[2]) or pace.era > at
if blocked_until > at and is_meant then
  blocked_until = open_now(hash, at)
  -- A new name: what is told of the old one is known to be over.
  pace.era = math.max(at, pace.era + 1)
  pace.opened, pace.window_at, pace.window_used = pace.era, at, false
  write_pace(hash, pace)
  -- It fills from now on.
  redis.call('HSET', hash, 'era', pace.era, 'tokens', 0, 'opened', pace.opened)
  keep_as_it_is(hash, pace, blocked_until, at)
end
return event(false, pace, blocked_until, at)
