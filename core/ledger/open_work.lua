-- How much of a source is leased and how much is delayed. KEYS: its leased and its delayed tasks.
local at = now()
-- Leases that ran out hold nothing any more.
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', at)
-- Delays that are over lie in their lanes and are counted there.
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', at)
-- What remains is open.
return {redis.call('ZCARD', KEYS[1]), redis.call('ZCARD', KEYS[2])}
