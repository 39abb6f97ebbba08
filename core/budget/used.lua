-- Count requests that are over, in sums that fade: the arithmetic of usage.py.
-- ARGV: how many, what they waited for tokens and what they took, in seconds.
local HALF_LIFE = 30 * SECOND
local hash = keys_of(1)
local at = now()
local held = redis.call('HMGET', hash, 'at', 'used_at', 'used_since', 'used', 'waited', 'asked')
if not held[1] then
  -- A bucket that nobody knows: a hash without end would be made for it.
  return {}
end
local share = 0.5 ^ (math.max(0, at - (held[2] or at)) / HALF_LIFE)
redis.call('HSET', hash, 'used_at', at, 'used_since', held[3] or at,
  'used', (held[4] or 0) * share + ARGV[1],
  'waited', (held[5] or 0) * share + ARGV[2],
  'asked', (held[6] or 0) * share + ARGV[3])
return {}
