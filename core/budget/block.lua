-- Close one bucket for ARGV[1] microseconds; answers until when, and how long that is from now.
local hash, tickets = keys_of(1)
local at = now()
local until_ = at + tonumber(ARGV[1])
-- What stands, and how long the bucket takes to fill.
local held = redis.call('HMGET', hash, 'blocked_until', 'rate', 'burst')
local standing = tonumber(held[1] or 0)
-- A longer block stands; a call with 0 only asks.
if until_ > at and until_ > standing then
  standing = until_
  -- Close it,
  redis.call('HSET', hash, 'blocked_until', standing)
  -- void what was promised: whoever was asks anew,
  redis.call('DEL', tickets)
  -- and keep it for as long as the block.
  keep(hash, held[2] and held[3] / held[2] * SECOND or 0, standing - at)
end
return {standing, math.max(0, standing - at)}
