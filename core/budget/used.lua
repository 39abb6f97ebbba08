-- Count requests that are over, in sums that fade: the arithmetic of usage.py.
-- ARGV: how many, what they waited for tokens and what they took, in seconds.
local HALF_LIFE = 10 * SECOND
local FORGOTTEN = 0.05
local hash, tickets = keys_of(1)
local at = now()
local held = read(hash, tickets, at, 'at', 'used_at', 'used_since', 'used', 'waited', 'asked')
if not held[1] then
  -- A bucket that nobody knows: a hash without end would be made for it.
  return {}
end
local share = 0.5 ^ (math.max(0, at - (held[2] or at)) / HALF_LIFE)
local left = (held[4] or 0) * share
-- After a rest the rate is counted anew.
redis.call('HSET', hash, 'seen', at, 'used_at', at,
  'used_since', left < FORGOTTEN and at or held[3],
  'used', left + ARGV[1],
  'waited', (held[5] or 0) * share + ARGV[2],
  'asked', (held[6] or 0) * share + ARGV[3])
return {}
