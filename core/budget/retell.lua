-- What a process knows of slowdowns, told once more: how each bucket stands.
-- ARGV: what was heard of each.
local at = now()
local told = {}
for index = 1, #KEYS / 2 do
  local hash, tickets = keys_of(index)
  local pace, blocked_until = look_up(hash, tickets, ARGV[index], at)
  -- Nobody else may look at it for as long as its block lasts.
  redis.call('HSET', hash, 'seen', at)
  local place = 7 * index - 6
  told[place] = math.max(0, blocked_until - at)
  describe(told, place + 1, pace, blocked_until)
end
return told
