-- The fence under `mark`, zero for none; or nil and a fault.
local function marked(mark)
  local digits, fault = text(mark, 'corrupt mark')
  if fault then return nil, fault end
  if not digits then return 0 end
  if not is_fence(digits) then return nil, 'corrupt mark' end
  return tonumber(digits)
end

-- Sees to it that there is a mark and that it is not below `fence`; one that can't be read is left alone.
local function raise_mark(mark, fence, mark_ttl)
  local highest, fault = marked(mark)
  if not fault and highest < fence then
    redis.call('SET', mark, string.format('%.0f', fence), 'PX', mark_ttl)
  end
end

-- The server's clock in microseconds since 1970.
local function micros()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
