-- The server's time in microseconds since 1970: workers' clocks differ, the server has one.
local function now()
  -- Seconds and microseconds, as two strings.
  local time = redis.call('TIME')
  -- 16 digits: exact in a double.
  return time[1] * 1000000 + time[2]
end
