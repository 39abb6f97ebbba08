-- Good answers of each bucket's source: what failed before is forgotten.
local at = now()
for index = 1, #KEYS / 2 do
  local hash, tickets = keys_of(index)
  -- Whether nothing had been answered since the last slowdown.
  local outage = read(hash, tickets, at, 'outage')[1]
  -- Failures are counted from the next one on.
  redis.call('HDEL', hash, 'failing', 'failing_at')
  if outage == '1' then
    -- It is over, and the pace may climb from now on.
    redis.call('HSET', hash, 'outage', 0, 'window_at', at, 'window_used', 0, 'seen', at)
  end
end
return {}
