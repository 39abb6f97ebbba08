-- Take a task's lease, or say why not.
-- ARGV: ..., not before, attempts, crashes, token, length, this start of the server.
local not_before, attempts, crashes = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local token, length, run_id = ARGV[7], tonumber(ARGV[8]), ARGV[9]
local at = now()
local entry = known()
if entry and (entry.generation > generation or entry.serial > serial) then
  return {'superseded'}
end
entry = entry or unknown()
if entry.not_before and entry.serial == serial then
  -- The ledger's word is by the server's clock, the message's by some worker's.
  not_before = entry.not_before
end
-- The same call again, its first answer lost: the lease is ours.
local ours = entry.token == token
if not_before > at and not ours then
  rest_until(not_before, at)
  return {'early', not_before - at}
end
if entry.lease_until > at and not ours then
  return {'held', entry.lease_until - at}
end
-- A lease that an earlier start of the server knew of may have ended in good order since: what was on
-- disk is old, and nobody could tell a server that was away.
local told = entry.token and entry.run_id == run_id
local vanished = told and not ours and entry.serial == serial
absorb(entry, attempts, crashes)
if vanished then
  save(entry, 0)
  return {'vanished', entry.attempts, standing(entry)}
end
entry.not_before = not_before
save(entry, length)
hold(token, at, length, run_id)
-- What is leased is not delayed.
redis.call('ZREM', delayed, id)
return {'leased', entry.attempts, standing(entry), at + length}
