-- Prolong a lease.
-- ARGV: ..., token, length, progress (1 or 0), attempts, crashes, this start of the server.
local token, length, progress = ARGV[4], tonumber(ARGV[5]), ARGV[6] == '1'
local at = now()
local entry = known()
if entry and (entry.generation > generation or (entry.token and entry.token ~= token)) then
  return 0
end
if not entry then
  -- Forgotten (a flush): the holder knows what counted when it began.
  entry = unknown()
  absorb(entry, tonumber(ARGV[7]), tonumber(ARGV[8]))
end
if progress then
  entry.cleared = entry.crashes
end
save(entry, length)
hold(token, at, length, ARGV[9])
return 1
