-- Good answers of each bucket's source: what failed before is forgotten.
local at = now()
for index = 1, #KEYS / 2 do
  local hash = keys_of(index)
  redis.call('HDEL', hash, 'failing', 'failing_at')
  -- Whether nothing had been answered since the last slowdown.
  if redis.call('HGET', hash, 'outage') == '1' then
    -- It is over, and the pace may climb from now on.
    redis.call('HSET', hash, 'outage', 0, 'window_at', at, 'window_used', 0)
  end
end
return {}
