-- A copy was published and confirmed. ARGV: ..., token ('' for none), delay, attempts, crashes.
local token, delay = ARGV[4], tonumber(ARGV[5])
local entry = known()
if not entry and generation == 1 and serial == 0 and delay == 0 then
  -- A first copy: nothing of it needs to be remembered, and there may be a million.
  return
end
entry = entry or unknown()
if entry.generation > generation then
  return
end
local at = now()
-- A lease that ran out ends with the newer copy that tells of it, not with an old one.
local told = serial > entry.serial and entry.lease_until <= at
if entry.token and (entry.token == token or told) then
  let_go()
  entry.lease_until = 0
end
if serial < entry.serial then
  return
end
local standing_time = entry.serial == serial and entry.not_before or 0
entry.not_before = math.max(at + delay, standing_time)
absorb(entry, tonumber(ARGV[6]), tonumber(ARGV[7]))
save(entry, math.max(entry.not_before, entry.lease_until) - at)
if entry.not_before > at then
  rest_until(entry.not_before, at)
else
  -- It lies in its lane at once.
  redis.call('ZREM', delayed, id)
end
