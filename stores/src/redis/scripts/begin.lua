-- Begins a tenure in the place of `value` with `fence`, false and nil where nothing is. The new fence is larger than any
-- before, and not below the clock, so that it is also larger than one that a failover lost. The mark is written first:
-- no tenure is ever without.
local function begin(answer, key, mark, phase, value, fence, ttl, mark_ttl)
  local highest, fault = marked(mark)
  if fault then return fault end
  if fence and fence > highest then highest = fence end
  local new = highest + 1
  local now = micros()
  if now > new then new = now end
  if new > 9007199254740991 then return 'exhausted' end
  local digits = string.format('%.0f', new)
  redis.call('SET', mark, digits, 'PX', mark_ttl)
  redis.call('SET', key, phase .. me .. '#' .. digits, 'PX', ttl)
  return answer .. digits .. ' ' .. (value or '')
end
