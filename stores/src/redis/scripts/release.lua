-- To be responsible no longer.
-- KEYS: lease, mark. ARGV: me, mark's ttl, and the fence of the tenure that ends or nothing for any.
-- Says: released | not-held | a fault

local key, decided = KEYS[1], tonumber(ARGV[3])
local value, fault = text(key, 'corrupt type')
if fault then return fault end
if not value then return 'not-held' end
local phase, mine, fence
phase, mine, fence, fault = judge(value)
if fault then return fault end
if redis.call('PTTL', key) == -1 then return 'corrupt endless' end
if not mine or (decided and decided ~= fence) then return 'not-held' end
raise_mark(KEYS[2], fence, ARGV[2])
redis.call('DEL', key)
return 'released'
