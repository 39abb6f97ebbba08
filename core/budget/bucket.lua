-- Token buckets in Redis: the arithmetic of bucket.py, shared by take, confirm and level.
-- KEYS: each bucket's hash and its tickets. ARGV: ticket, horizon, cost, then each bucket's rate,
-- burst and latest known block. All times in microseconds on the server's clock.
local SECOND = 1000000
local EPSILON = 1e-6
local GRACE = 5 * SECOND
local PATIENCE = 3 * SECOND
local KEPT = 60 * SECOND
local LONGEST = 366 * 86400 * SECOND

-- The hash that a bucket lives in, and the sorted set of its tickets by the time they are due.
local function keys_of(index)
  return KEYS[2 * index - 1], KEYS[2 * index]
end

-- Keep a bucket until it is full and open again, and a while longer: it would start empty anew.
local function keep(hash, fill, blocked)
  -- Milliseconds, rounded up.
  redis.call('PEXPIRE', hash, math.ceil(math.min(math.max(fill, blocked) + KEPT, LONGEST) / 1000))
end

-- Read one bucket and bring it to `at` at the rate that held until now, then on its new terms.
local function open(index, at)
  local hash, tickets = keys_of(index)
  local rate = tonumber(ARGV[3 * index + 1])
  local burst = tonumber(ARGV[3 * index + 2])
  local known = tonumber(ARGV[3 * index + 3])
  -- What was left; nothing for a bucket that is new here, or that a block alone has made.
  local held = redis.call('HMGET', hash, 'tokens', 'at', 'rate', 'burst', 'blocked_until')
  local tokens = 0
  if held[2] then
    local elapsed = math.max(0, at - held[2])
    tokens = math.min(burst, tonumber(held[4]), held[1] + elapsed * held[3] / SECOND)
  end
  local blocked_until = tonumber(held[5] or 0)
  if known > blocked_until then
    blocked_until = known
    -- The block was lost with its bucket: put it back,
    redis.call('HSET', hash, 'blocked_until', known)
    -- and void what was promised since.
    redis.call('DEL', tickets)
  end
  -- Whoever comes so late is taken for dead: its promise must not slow the others for ever.
  redis.call('ZREMRANGEBYSCORE', tickets, '-inf', at - GRACE)
  return {hash = hash, tickets = tickets, rate = rate, burst = burst, tokens = tokens,
    -- How many tokens are promised.
    promised = redis.call('ZCARD', tickets), blocked_until = blocked_until}
end

-- Write one bucket back.
local function save(bucket, at)
  -- Rate and tokens in one hash: a changed rate goes on with the tokens that there are.
  redis.call('HSET', bucket.hash, 'tokens', bucket.tokens, 'at', at,
    'rate', bucket.rate, 'burst', bucket.burst)
  keep(bucket.hash, bucket.burst / bucket.rate * SECOND, bucket.blocked_until - at)
end

-- How long until a bucket has `cost` tokens besides one for each of `ahead`; 0: now.
local function wait_for(bucket, cost, ahead)
  local missing = ahead + cost - bucket.tokens
  if missing <= EPSILON then
    return 0
  end
  return math.max(1, math.ceil(missing / bucket.rate * SECOND))
end

-- Every bucket of this call, and how long the longest of their blocks still lasts.
local function open_all(at)
  local buckets, blocked = {}, 0
  for index = 1, #KEYS / 2 do
    local bucket = open(index, at)
    buckets[index] = bucket
    blocked = math.max(blocked, bucket.blocked_until - at)
  end
  return buckets, blocked
end

-- Write every bucket back and hand on the answer.
local function answer(buckets, at, told)
  for _, bucket in ipairs(buckets) do
    save(bucket, at)
  end
  return told
end

-- The answer of a blocked source, with each bucket's end for the caller to remember.
local function blocked_answer(buckets, at, blocked)
  local told = {'blocked', blocked}
  for index, bucket in ipairs(buckets) do
    told[index + 2] = bucket.blocked_until
  end
  return answer(buckets, at, told)
end

-- Charge every bucket; the ticket, if there was one, is spent.
local function grant(buckets, at, cost, ticket)
  for _, bucket in ipairs(buckets) do
    bucket.tokens = bucket.tokens - cost
    -- One ticket, one grant.
    redis.call('ZREM', bucket.tickets, ticket)
  end
  return answer(buckets, at, {'granted', 0})
end

-- Give a ticket its place in one bucket: the time that it is due.
local function place(bucket, ticket, due, lives)
  -- Those that are late together go in the order of their places.
  redis.call('ZADD', bucket.tickets, due, ticket)
  -- The set need not outlive its last ticket by much.
  redis.call('PEXPIRE', bucket.tickets, math.ceil((lives + KEPT) / 1000))
end
