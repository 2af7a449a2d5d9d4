-- An operator's way out.
-- KEYS: lease, mark. ARGV: me, mark's ttl, force or nothing.
-- Says: discarded | absent | refused <milliseconds left> <value>

local key, mark = KEYS[1], KEYS[2]
local value, fault = text(key, 'corrupt type')
local phase, mine, fence, left
if value then
  phase, mine, fence, fault = judge(value)
  left = redis.call('PTTL', key)
  if left == -1 then fault = fault or 'corrupt endless' end
end
local highest, mark_fault = marked(mark)
if value and not fault and ARGV[3] ~= 'force' then return 'refused ' .. left .. ' ' .. value end
if not value and not fault and not mark_fault then return 'absent' end

-- Where no fence can be read the clock stands in for it, as it does in a new tenure.
local floor = fence or 0
if mark_fault or (fault and not fence) then floor = math.max(floor, micros()) end
if mark_fault or highest < floor then
  redis.call('SET', mark, string.format('%.0f', floor), 'PX', ARGV[2])
end
redis.call('UNLINK', key)
return 'discarded'
