use leasehold::{ErrorKind, OwnershipStore, RenewOutcome, Stage};

use crate::support::{Place, destroy, id, is_renewed, take};

#[test]
fn what_is_wrong_with_one_id_fails_no_other() {
    let place = Place::new();
    let (mine, peer) = (place.open("gw-1"), place.open("gw-2"));
    for name in ["held", "torn", "theirs", "stopping", "last"] {
        take(&*mine, &id(name));
    }
    take(&*peer, &id("theirs"));
    destroy(&*mine, &id("stopping"));
    place.put(&id("torn"), b"LHLD".to_vec());
    let names = ["held", "torn", "theirs", "never", "stopping", "held", "last"];
    let outcomes = mine.renew_many(&names.map(id));
    assert!(is_renewed(&outcomes[0]) && is_renewed(&outcomes[5]) && is_renewed(&outcomes[6]));
    let torn = outcomes[1].as_ref().unwrap_err();
    assert_eq!((torn.kind(), torn.id()), (ErrorKind::Corrupt, Some(&id("torn"))));
    assert!(matches!(outcomes[2], Ok(RenewOutcome::Lost)));
    assert!(matches!(outcomes[3], Ok(RenewOutcome::Lapsed)));
    assert!(matches!(outcomes[4], Ok(RenewOutcome::Lost)));
    assert_eq!(place.record(&id("torn")), b"LHLD");
}

#[test]
fn a_batch_of_many_chunks_keeps_its_order() {
    let place = Place::new();
    let store = place.store("gw-1", 1_000, &place.clock);
    let ids: Vec<_> = (0..1_300).map(|n| id(&format!("sbx-{n}"))).collect();
    let fences: Vec<_> = ids.iter().map(|id| take(&store, id).fence).collect();
    for (n, outcome) in store.renew_many(&ids).into_iter().enumerate() {
        assert!(matches!(outcome, Ok(RenewOutcome::Renewed(tenure)) if tenure.fence == fences[n]), "{n}");
    }
    assert!(store.renew_many(&[]).is_empty());
}

#[test]
fn a_batch_that_can_not_be_committed_is_an_error_for_every_id() {
    let place = Place::new();
    let store = place.open_with("gw-1", "?deadline_ms=60").unwrap();
    let ids: Vec<_> = (0..600).map(|n| id(&format!("sbx-{n}"))).collect();
    for id in &ids {
        take(&*store, id);
    }
    let other = place.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    for outcome in store.renew_many(&ids) {
        let error = outcome.unwrap_err();
        assert_eq!((error.kind(), error.stage()), (ErrorKind::Timeout, Some(Stage::Lock)));
    }
    drop(other);
    assert!(store.renew_many(&ids).iter().all(is_renewed));
}
