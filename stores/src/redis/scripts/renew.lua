-- To go on being responsible, for many at once.
-- KEYS: the leases, and when due their marks. ARGV: me, ttl, mark's ttl, how many leases, due or nothing.
-- Says, a line each and in order: <fence> | lapsed | lost | a fault

local ttl, mark_ttl, count, due = ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5] == 'due'

local function renew(key, mark, value)
  local fault
  -- To MGET, what is no string is not there.
  if not value then value, fault = text(key, 'corrupt type') end
  if fault then return fault end
  if not value then return 'lapsed' end
  local phase, mine, fence
  phase, mine, fence, fault = judge(value)
  if fault then return fault end
  if mine and phase == 'own:' then
    return refresh(key, mark, fence, ttl, mark_ttl) or sub(value, #me + 6)
  end
  return redis.call('PTTL', key) == -1 and 'corrupt endless' or 'lost'
end

local values = redis.call('MGET', unpack(KEYS, 1, count))
local call, held = redis.call, 'own:' .. me .. '#'
for i = 1, count do
  local key, value = KEYS[i], values[i]
  local fence = value and not due and sub(value, 1, #held) == held and sub(value, #held + 1)
  -- Nearly all of nearly every batch is plainly mine, and takes the short way: one call, and nothing else is looked at.
  if fence and is_fence(fence) and (call('PEXPIRE', key, ttl, 'GT') == 1 or call('PTTL', key) ~= -1) then
    values[i] = fence
  else
    values[i] = renew(key, due and KEYS[count + i], value)
  end
end
return table.concat(values, '\n')
