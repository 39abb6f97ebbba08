-- The video has ended. KEYS: its hash.
redis.call('DEL', KEYS[1])
