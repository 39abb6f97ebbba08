-- A piece of a video is present or dead: how many distinct ones are known to be.
-- KEYS: the video's hash: its newest generation, and a field for each piece of it.
-- ARGV: the generation and the piece.
local WEEK_MS = 7 * 86400 * 1000
local join, generation, piece = KEYS[1], tonumber(ARGV[1]), ARGV[2]
-- What is known, is it of this generation?
local known = tonumber(redis.call('HGET', join, 'generation') or generation)
if known > generation then
  -- This one is over; nothing waits for its pieces.
  return 0
end
if known < generation then
  -- A requeue: its pieces are told anew.
  redis.call('DEL', join)
end
-- The piece, once, however often it is told.
redis.call('HSET', join, 'generation', ARGV[1], piece, 1)
-- What nobody forgets goes after a week without a word.
redis.call('PEXPIRE', join, WEEK_MS)
-- All fields but the generation.
return redis.call('HLEN', join) - 1
