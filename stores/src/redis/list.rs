use std::collections::HashSet;

use leasehold::{Damaged, ErrorKind, Listing, StoreError};
use redis::Value;

use super::keys::Owned;
use super::reply::{NoOutcome, Reply};
use super::script;
use super::store::RedisStore;

/// How many keys of the database the server looks at in one step.
const STEP: &str = "512";

/// All leases, page by page. The server's cursor shows every key that is there throughout at least once; a key that it
/// shows twice counts as it was the first time.
pub(super) fn all(store: &RedisStore) -> Result<Listing, StoreError> {
    let deadline = store.deadline();
    let pattern = store.keys().pattern();
    let mut listing = Listing::default();
    let mut seen = HashSet::new();
    let mut cursor = "0".to_owned();
    loop {
        let page = store.run(deadline, &script::LIST, &[], &[&cursor, &pattern, STEP])?;
        let (next, entries) = turned(page).ok_or_else(|| store.unexpected())?;
        for (key, said) in entries {
            if !seen.contains(&key) {
                add(store, &mut listing, &key, &said)?;
                seen.insert(key);
            }
        }
        if next == "0" {
            return Ok(listing);
        }
        cursor = next;
    }
}

type Page = (String, Vec<(Vec<u8>, Vec<u8>)>);

/// The next cursor, and the keys of this page with what is said of each.
fn turned(page: Value) -> Option<Page> {
    let Value::Array(list) = page else { return None };
    let mut texts = list.into_iter().map(|item| match item {
        Value::BulkString(text) => Some(text),
        _ => None,
    });
    let cursor = String::from_utf8(texts.next()??).ok()?;
    if cursor.is_empty() || !cursor.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let mut entries = Vec::with_capacity(texts.len() / 2);
    while let Some(key) = texts.next() {
        entries.push((key?, texts.next()??));
    }
    Some((cursor, entries))
}

fn add(store: &RedisStore, listing: &mut Listing, key: &[u8], said: &[u8]) -> Result<(), StoreError> {
    let place = String::from_utf8_lossy(key).escape_debug().to_string();
    let id = match store.keys().owned(key) {
        Owned::Lease(id) => Some(id),
        Owned::Nested => return Ok(()),
        Owned::Stray => None,
    };
    match (Reply::open(said, &place).and_then(|reply| reply.inspect()), id) {
        (Ok(Some(lease)), Some(id)) => listing.leases.push((id, lease)),
        (Ok(Some(_)), None) => {
            let why = format!("the key {place} is named like no sandbox; remove it if nobody uses it");
            let error = StoreError::new(ErrorKind::Corrupt, why);
            listing.damaged.push(Damaged { id: None, place, error });
        }
        (Err(NoOutcome::Kept(error)), id) => listing.damaged.push(Damaged { id, place, error }),
        (Ok(None) | Err(NoOutcome::Unexpected), _) => return Err(store.unexpected()),
    }
    Ok(())
}
