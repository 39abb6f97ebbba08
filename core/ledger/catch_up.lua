-- Raise an error while no task could be begun: reading alone would be answered by a server whose
-- memory is full, or that is a replica, or that can't save. KEYS: a key of its own.
local MINUTE_MS = 60000
-- A write that needs memory.
redis.call('SET', KEYS[1], now(), 'PX', MINUTE_MS)
