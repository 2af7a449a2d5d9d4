use leasehold::{DiscardOutcome, ErrorKind, Intent, OwnershipStore, SandboxId};
use rusqlite::types::Value;

use crate::support::{Place, id, is_renewed, take};

fn corrupt_everywhere(store: &dyn OwnershipStore, sandbox: &SandboxId, what: &str) {
    let errors = [
        store.take(sandbox).unwrap_err(),
        store.claim(sandbox, Intent::Keep).unwrap_err(),
        store.renew(sandbox).unwrap_err(),
        store.release(sandbox).unwrap_err(),
        store.inspect(sandbox).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{what}: {error}");
        assert!(error.to_string().contains("sbx-1") && error.to_string().contains("discard"), "{error}");
    }
}

#[test]
fn every_flipped_byte_and_every_length_is_corrupt_and_stays_as_it_is() {
    let place = Place::new();
    let store = place.open("gw-1");
    let sandbox = id("sbx-1");
    take(&*store, &sandbox);
    let whole = place.record(&sandbox);
    let flipped = (0..whole.len()).map(|at| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        (format!("byte {at} flipped"), bytes)
    });
    let cut = (0..whole.len()).map(|length| (format!("cut to {length}"), whole[..length].to_vec()));
    let longer = [("a byte longer".to_owned(), [&whole[..], &[0]].concat())];
    for (what, bytes) in flipped.chain(cut).chain(longer).collect::<Vec<_>>() {
        place.put(&sandbox, &bytes);
        corrupt_everywhere(&*store, &sandbox, &what);
        assert_eq!(place.record(&sandbox), bytes, "{what}");
    }
    place.put(&sandbox, &whole);
    assert!(is_renewed(&store.renew(&sandbox)));
}

#[test]
fn a_record_of_another_type_is_corrupt() {
    let place = Place::new();
    let store = place.open("gw-1");
    for value in [Value::Integer(7), Value::Real(0.5), Value::Text("LHLD".to_owned())] {
        place.put(&id("sbx-1"), value.clone());
        corrupt_everywhere(&*store, &id("sbx-1"), &format!("{value:?}"));
    }
}

#[test]
fn another_ids_record_is_corrupt() {
    let place = Place::new();
    let store = place.open("gw-1");
    take(&*store, &id("sbx-2"));
    place.put(&id("sbx-1"), place.record(&id("sbx-2")));
    corrupt_everywhere(&*store, &id("sbx-1"), "misplaced");
}

#[test]
fn damage_hides_nothing_else_and_is_listed() {
    let place = Place::new();
    let store = place.open("gw-1");
    take(&*store, &id("sbx-1"));
    take(&*store, &id("sbx-3"));
    place.put(&id("sbx-2"), b"garbage".to_vec());
    place.sql().execute("INSERT INTO lease VALUES ('not/an/id', x'00'), (x'ff', x'00')", []).unwrap();
    let listing = store.list().unwrap();
    let mut live: Vec<_> = listing.leases.iter().map(|(id, _)| id.to_string()).collect();
    live.sort();
    assert_eq!(live, ["sbx-1", "sbx-3"]);
    let mut damaged: Vec<_> = listing.damaged.iter().map(|damaged| damaged.id.clone()).collect();
    damaged.sort();
    assert_eq!(damaged, [None, None, Some(id("sbx-2"))]);
    for damaged in &listing.damaged {
        assert_eq!(damaged.error.kind(), ErrorKind::Corrupt);
        assert!(damaged.place.contains("leases.db"), "{}", damaged.place);
    }
}

#[test]
fn discard_is_the_way_out_and_refuses_a_live_lease() {
    let place = Place::new();
    let store = place.open("gw-1");
    let sandbox = id("sbx-1");
    let fence = take(&*store, &sandbox).fence;
    assert!(
        matches!(store.discard(&sandbox, false).unwrap(), DiscardOutcome::Refused(lease) if lease.fence == Some(fence))
    );
    let mut bytes = place.record(&sandbox);
    bytes[50] ^= 1;
    place.put(&sandbox, &bytes);
    assert_eq!(store.discard(&sandbox, false).unwrap(), DiscardOutcome::Discarded);
    assert_eq!(store.discard(&sandbox, false).unwrap(), DiscardOutcome::Absent);
    assert!(take(&*store, &sandbox).fence > fence);
}

#[test]
fn a_database_without_its_mark_makes_no_new_tenure() {
    let place = Place::new();
    let store = place.open("gw-1");
    take(&*store, &id("sbx-1"));
    place.sql().execute("DELETE FROM mark", []).unwrap();
    assert_eq!(store.take(&id("sbx-2")).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(store.release(&id("sbx-1")).unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(store.inspect(&id("sbx-1")).unwrap().is_some(), "a fence is not forgotten without a mark");
}
