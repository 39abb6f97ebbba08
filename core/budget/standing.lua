-- How one bucket stands; nothing is answered when nobody knows it.
-- ARGV: what was heard.
local HALF_LIFE = 10 * SECOND
local hash, tickets = keys_of(1)
local at = now()
local pace, blocked_until = look_up(hash, tickets, ARGV[1], at)
local held = redis.call('HMGET', hash, 'rate', 'burst', 'slowdowns', 'used_at', 'used_since',
  'used', 'waited', 'asked')
if not held[1] and pace.era == 0 then
  return {}
end
local share = 0.5 ^ (math.max(0, at - (held[4] or at)) / HALF_LIFE)
-- A fraction goes as text: a number would lose it on the way.
local function text(number)
  return string.format('%.17g', number)
end
return {held[1] or '0', tonumber(held[2] or 0), text(pace.value), math.max(0, blocked_until - at),
  tonumber(held[3] or 0), math.max(0, at - (held[5] or at)), text((held[6] or 0) * share),
  text((held[7] or 0) * share), text((held[8] or 0) * share)}
