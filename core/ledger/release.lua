-- End a lease in good order, if it is still ours. ARGV: ..., token.
local entry = known()
if entry and entry.token == ARGV[4] then
  let_go()
  save(entry, (entry.not_before or 0) - now())
end
