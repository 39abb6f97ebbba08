-- Whether anything is known of a task. KEYS: its hash.
return redis.call('EXISTS', KEYS[1])
