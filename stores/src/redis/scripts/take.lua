-- To be responsible from now on, whoever is.
-- KEYS: lease, mark. ARGV: me, ttl, mark's ttl.
-- Says: taken <fence> <value replaced or nothing> | being-destroyed | a fault

local key = KEYS[1]
local value, fault = text(key, 'corrupt type')
if fault then return fault end
local phase, mine, fence
if value then
  phase, mine, fence, fault = judge(value)
  if fault then return fault end
  if redis.call('PTTL', key) == -1 then return 'corrupt endless' end
  if phase == 'del:' then return 'being-destroyed' end
end
return begin('taken ', key, KEYS[2], 'own:', value, fence, ARGV[2], ARGV[3])
