-- What one bucket holds: tokens that nobody was promised, and how long until it is full.
local at = now()
local buckets, blocked = open_all(at)
local bucket = buckets[1]
local free = blocked > 0 and 0 or bucket.tokens - bucket.promised
local full_in = math.ceil(math.max(0, bucket.burst - bucket.tokens) / bucket.refill * SECOND)
save(bucket, at)
-- As text: a number would lose its fraction on the way.
return {string.format('%.17g', free), blocked + full_in}
