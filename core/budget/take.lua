-- Take one request's tokens: at once, as a promise within the horizon, or not at all.
local ticket, horizon, cost = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local at = now()
local buckets, blocked, slowest = open_all(at)
if blocked > 0 then
  return answer(buckets, at, 'blocked', blocked, slowest)
end
local wait = 0
for index, bucket in ipairs(buckets) do
  local own = wait_for(bucket, cost, bucket.promised)
  if own > wait then
    wait, slowest = own, index
  end
end
if wait == 0 then
  return grant(buckets, at, cost, ticket)
end
if wait > horizon then
  return answer(buckets, at, 'denied', wait, slowest)
end
for _, bucket in ipairs(buckets) do
  place(bucket, ticket, at + wait, wait + GRACE)
end
return answer(buckets, at, 'reserved', wait, slowest)
