-- A source's delayed tasks were purged. KEYS: its delayed tasks, and those that count apart.
for _, key in ipairs(KEYS) do
  -- Each task's own counts stay: one that is not of the purge comes back with its attempts.
  redis.call('DEL', key)
end
