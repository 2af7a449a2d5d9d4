-- The string under `key`, or false for nothing there; or nil and `fault` where something else is.
local function text(key, fault)
  local value = redis.pcall('GET', key)
  if type(value) ~= 'table' then return value end
  if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return nil, fault end
  return error(value)
end
