local me = ARGV[1]
local me_and_hash = me .. '#'
local sub, find = string.sub, string.find

-- Whether `name` is that of an owner: not empty, at most 255 bytes, UTF-8, and without a control character.
local function names_an_owner(name)
  if name == '' or #name > 255 then return false end
  if not find(name, '[^ -~]') then return true end
  if find(name, '[%z\1-\31\127]') or find(name, '\194[\128-\159]') then return false end
  local plain = string.gsub(name, '[\194-\223][\128-\191]', '?')
  plain = string.gsub(plain, '\224[\160-\191][\128-\191]', '?')
  plain = string.gsub(plain, '\237[\128-\159][\128-\191]', '?')
  plain = string.gsub(plain, '[\225-\236\238\239][\128-\191][\128-\191]', '?')
  plain = string.gsub(plain, '\240[\144-\191][\128-\191][\128-\191]', '?')
  plain = string.gsub(plain, '[\241-\243][\128-\191][\128-\191][\128-\191]', '?')
  plain = string.gsub(plain, '\244[\128-\143][\128-\191][\128-\191]', '?')
  return not find(plain, '[\128-\255]')
end

-- Whether `digits` are a fence in the one form that is ever written: 1 to 2^53 - 1 without a zero in front.
local function is_fence(digits)
  return #digits <= 16 and find(digits, '^[1-9]%d*$') and tonumber(digits) <= 9007199254740991
end

-- What `value` says: its phase, whether it is mine, and its fence if it has one; or in the fourth place what is wrong
-- with it. The same form as in value.rs: this side judges what it would overwrite.
local function judge(value)
  local phase = sub(value, 1, 4)
  if phase ~= 'own:' and phase ~= 'del:' then return nil, nil, nil, 'corrupt form' end
  -- What is mine has a fence: a record without one is a peer's, whatever owner it names.
  if sub(value, 5, #me + 5) == me_and_hash then
    local digits = sub(value, #me + 6)
    if is_fence(digits) then return phase, true, tonumber(digits) end
  end
  local owner, digits = string.match(value, '^(.*)#(%d+)$', 5)
  if digits and not is_fence(digits) then return nil, nil, nil, 'corrupt fence' end
  if not names_an_owner(owner or sub(value, 5)) then return nil, nil, nil, 'corrupt owner' end
  return phase, false, digits and tonumber(digits)
end
