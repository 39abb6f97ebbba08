-- Turn a ticket into a grant once its time has come and the tokens are really there.
local ticket = ARGV[1]
local at = now()
local buckets, blocked, slowest = open_all(at)
if blocked > 0 then
  return answer(buckets, at, 'blocked', blocked, slowest)
end
local due, valid = 0, true
for _, bucket in ipairs(buckets) do
  -- This ticket's place; nothing when it was spent, voided or lost.
  bucket.place = tonumber(redis.call('ZSCORE', bucket.tickets, ticket) or nil)
  valid = valid and bucket.place
  due = math.max(due, bucket.place or 0)
end
if not valid then
  for _, bucket in ipairs(buckets) do
    -- Void in one bucket is void in all.
    redis.call('ZREM', bucket.tickets, ticket)
  end
  return answer(buckets, at, 'void', 0, 1)
end
if due > at then
  return answer(buckets, at, 'reserved', due - at, 1)
end
local short, wait = 0, 0
for _, bucket in ipairs(buckets) do
  short = math.max(short, wait_for(bucket, 1, 0))
  -- How many have a place before it.
  local ahead = redis.call('ZRANK', bucket.tickets, ticket)
  wait = math.max(wait, wait_for(bucket, 1, ahead))
end
if short == 0 then
  return grant(buckets, at, 1, ticket)
end
for _, bucket in ipairs(buckets) do
  -- It keeps its place, unless it would not live that long.
  local kept = math.max(bucket.place, at + wait + PATIENCE - GRACE)
  place(bucket, ticket, kept, wait + PATIENCE)
end
return answer(buckets, at, 'reserved', wait, 1)
