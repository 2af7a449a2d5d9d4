-- The same tenure for longer, and never for shorter; a fault where it had no end. `mark` is given when it is time to see
-- that it still outlives the lease: then it gets its whole TTL again.
local function refresh(key, mark, fence, ttl, mark_ttl)
  if redis.call('PEXPIRE', key, ttl, 'GT') == 0 and redis.call('PTTL', key) == -1 then return 'corrupt endless' end
  if mark then
    raise_mark(mark, fence, mark_ttl)
    redis.call('PEXPIRE', mark, mark_ttl, 'GT')
  end
end
