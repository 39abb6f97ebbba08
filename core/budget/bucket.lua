-- Token buckets in Redis: the arithmetic of bucket.py, shared by take, confirm and level.
-- ARGV: ticket, horizon, cost, this start of the server, then each bucket's rate, burst and what was
-- heard of its slowdowns.
local EPSILON = 1e-6
local GRACE = 5 * SECOND
local PATIENCE = 3 * SECOND
local run_id = ARGV[4]

-- Read one bucket and bring it to `at` at the refill that held until now, then on its new terms.
local function open(index, at)
  local hash, tickets = keys_of(index)
  local rate = tonumber(ARGV[3 * index + 2])
  local burst = tonumber(ARGV[3 * index + 3])
  local heard = ARGV[3 * index + 4]
  -- What was left; nothing for a bucket that is new here, or that a slowdown alone has made.
  local held = read(hash, tickets, at, 'tokens', 'at', 'rate', 'burst', 'blocked_until', 'era',
    'failing', 'run_id')
  local blocked_until = tonumber(held[5] or 0)
  local pace = read_pace(hash, held[6])
  local tokens, lost = 0, false
  if held[8] ~= run_id then
    -- A server that was started since may have found an old state on disk, or been a replica that
    -- lagged: what is held and promised there was spent already, for all that anyone knows.
    redis.call('DEL', tickets)
  elseif held[2] then
    -- Nothing fills during a block.
    local elapsed = math.max(0, at - math.max(held[2], blocked_until))
    local refill = held[3] * pace.value
    tokens = math.min(burst, tonumber(held[4]), held[1] + elapsed * refill / SECOND)
  end
  pace, blocked_until, lost = recall(hash, tickets, heard, pace, blocked_until, at)
  climb(hash, pace, blocked_until, at)
  -- Whoever comes so late is taken for dead: its promise must not slow the others for ever.
  redis.call('ZREMRANGEBYSCORE', tickets, '-inf', at - GRACE)
  return {hash = hash, tickets = tickets, rate = rate, burst = burst, tokens = lost and 0 or tokens,
    -- How many tokens are promised.
    promised = redis.call('ZCARD', tickets), blocked_until = blocked_until, pace = pace,
    refill = rate * pace.value, failing = held[7]}
end

-- Write one bucket back.
local function save(bucket, at)
  -- Rate and tokens in one hash: a changed rate goes on with the tokens that there are.
  redis.call('HSET', bucket.hash, 'tokens', bucket.tokens, 'at', at, 'seen', at,
    'rate', bucket.rate, 'burst', bucket.burst, 'run_id', run_id)
  keep(bucket.hash, bucket.burst / bucket.refill * SECOND, bucket.blocked_until - at,
    bucket.pace.era)
end

-- How long until a bucket has `cost` tokens besides one for each of `ahead`; 0: now.
local function wait_for(bucket, cost, ahead)
  local missing = ahead + cost - bucket.tokens
  if missing <= EPSILON then
    return 0
  end
  return math.max(1, math.ceil(missing / bucket.refill * SECOND))
end

-- Every bucket of this call, how long the longest of their blocks still lasts, and whose it is.
local function open_all(at)
  local buckets, blocked, slowest = {}, 0, 1
  for index = 1, #KEYS / 2 do
    local bucket = open(index, at)
    buckets[index] = bucket
    if bucket.blocked_until - at > blocked then
      blocked, slowest = bucket.blocked_until - at, index
    end
  end
  return buckets, blocked, slowest
end

-- Write every bucket back and hand on the answer: the verdict, how long it holds, and which bucket
-- keeps the others waiting; of slowdowns only where there were any.
local function answer(buckets, at, verdict, wait, slowest)
  local told, slowed, troubled = {verdict, wait, slowest}, false, false
  for _, bucket in ipairs(buckets) do
    save(bucket, at)
    slowed = slowed or bucket.pace.era > 0 or bucket.failing
    troubled = troubled or bucket.pace.outage or bucket.failing
  end
  if slowed then
    told[4] = troubled and 1 or 0
    for index, bucket in ipairs(buckets) do
      describe(told, 6 * index - 1, bucket.pace, bucket.blocked_until)
    end
  end
  return told
end

-- Charge every bucket; the ticket, if there was one, is spent.
local function grant(buckets, at, cost, ticket)
  for _, bucket in ipairs(buckets) do
    bucket.tokens = bucket.tokens - cost
    -- One ticket, one grant.
    redis.call('ZREM', bucket.tickets, ticket)
    if is_slow(bucket.pace) then
      -- The window is worth a step, should it stay clean.
      redis.call('HSET', bucket.hash, 'window_used', 1)
    end
  end
  return answer(buckets, at, 'granted', 0, 1)
end

-- Give a ticket its place in one bucket: the time that it is due.
local function place(bucket, ticket, due, lives)
  -- Those that are late together go in the order of their places.
  redis.call('ZADD', bucket.tickets, due, ticket)
  -- The set need not outlive its last ticket by much.
  redis.call('PEXPIRE', bucket.tickets, math.ceil((lives + KEPT) / 1000))
end
