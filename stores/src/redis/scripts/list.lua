-- One page of all leases. Finding and reading are one script, so that a replica can't answer with an empty page: it
-- refuses the script.
-- ARGV: cursor, pattern, how many keys to look at.
-- Says: the next cursor, then each key of the page with what inspect says of it

local page = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
local reply = { page[1] }
for _, key in ipairs(page[2]) do
  local value, fault = text(key, 'corrupt type')
  if value or fault then
    reply[#reply + 1] = key
    reply[#reply + 1] = fault or 'lease ' .. redis.call('PTTL', key) .. ' ' .. value
  end
end
return reply
