-- How much of a source is leased and how much is delayed.
-- KEYS: its leased and its delayed tasks, and the same of those that count apart.
local at, counts = now(), {}
for place, key in ipairs(KEYS) do
  -- Leases that ran out hold nothing any more; delays that are over lie in their lanes and are
  -- counted there.
  redis.call('ZREMRANGEBYSCORE', key, '-inf', at)
  -- What remains is open.
  counts[place] = redis.call('ZCARD', key)
end
return counts
