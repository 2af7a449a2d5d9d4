-- To look.
-- KEYS: lease.
-- Says: lease <milliseconds left> <value> | absent | a fault

local value, fault = text(KEYS[1], 'corrupt type')
if fault then return fault end
if not value then return 'absent' end
return 'lease ' .. redis.call('PTTL', KEYS[1]) .. ' ' .. value
