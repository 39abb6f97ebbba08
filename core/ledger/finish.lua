-- The task's end is durable: forget it, unless a newer generation was published meanwhile.
local entry = known()
if not entry or entry.generation == generation then
  forget()
end
