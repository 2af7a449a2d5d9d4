-- To be responsible only if nobody else is.
-- KEYS: lease, mark. ARGV: me, ttl, mark's ttl; keep, destroy, or the fence of the tenure to destroy; due or nothing.
-- Says: claimed <fence> <value replaced or nothing> | refreshed <value> | refused | lapsed | a fault

local key, intent = KEYS[1], ARGV[4]
local decided = tonumber(intent)
local wanted = intent == 'keep' and 'own:' or 'del:'
local value, fault = text(key, 'corrupt type')
if fault then return fault end
if not value then
  if decided then return 'lapsed' end
  return begin('claimed ', key, KEYS[2], wanted, value, nil, ARGV[2], ARGV[3])
end

local phase, mine, fence
phase, mine, fence, fault = judge(value)
if fault then return fault end
local agreed = mine and (not decided or decided == fence)
if agreed and phase == wanted then
  return refresh(key, ARGV[5] == 'due' and KEYS[2], fence, ARGV[2], ARGV[3]) or 'refreshed ' .. value
end
if redis.call('PTTL', key) == -1 then return 'corrupt endless' end
-- A stop under way can't be unwound.
if not agreed or phase == 'del:' then return 'refused' end
return begin('claimed ', key, KEYS[2], wanted, value, fence, ARGV[2], ARGV[3])
