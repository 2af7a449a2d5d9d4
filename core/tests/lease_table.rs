//! The lease table of the contract, cell by cell, and what holds for every cell.

use std::time::Duration;

use leasehold::rules::{self, Asker};
use leasehold::{
    ClaimOutcome, Fence, Intent, Moment, OwnerId, Phase, Reading, Record, ReleaseOutcome, RenewOutcome,
    Replaced, Step, TakeOutcome, Tenure, Ttl, Write,
};
use proptest::prelude::*;

const NOW: Moment = Moment::from_nanos(1_000_000_000_000);
const F: u64 = 70;
const OTHER: u64 = 60;
const FLOOR: u64 = 50;

fn fence(n: u64) -> Fence {
    Fence::new(n).unwrap()
}

fn owner(name: &str) -> OwnerId {
    OwnerId::new(name).unwrap()
}

fn ttl() -> Ttl {
    Ttl::from_millis(500).unwrap()
}

fn reading() -> Reading {
    Reading { now: NOW, fence_floor: FLOOR }
}

/// The rows of the table. `f` is the fence that DestroyTenure and release_tenure ask with.
fn before(row: &str) -> Option<Record> {
    let record =
        |who, phase, n, expires| Some(Record { owner: owner(who), phase, fence: Some(fence(n)), expires });
    let later = NOW + Duration::from_millis(100);
    match row {
        "absent" => None,
        "mine, run out" => record("me", Phase::Held, F, NOW),
        "mine, Teardown, run out" => record("me", Phase::Teardown, F, NOW),
        "a peer's, run out" => record("peer", Phase::Held, F, NOW),
        "mine, Held, fence f" => record("me", Phase::Held, F, later),
        "mine, Held, other fence" => record("me", Phase::Held, OTHER, later),
        "mine, Teardown, fence f" => record("me", Phase::Teardown, F, later),
        "mine, Teardown, other fence" => record("me", Phase::Teardown, OTHER, later),
        "a peer's, Held" => record("peer", Phase::Held, F, later),
        "a peer's, Teardown" => record("peer", Phase::Teardown, F, later),
        "my name, no fence" => {
            Some(Record { owner: owner("me"), phase: Phase::Held, fence: None, expires: later })
        }
        _ => panic!("no row {row}"),
    }
}

/// One cell in words: the answer and, after a slash, what becomes of the record.
fn cell(row: &str, operation: &str) -> String {
    let me = owner("me");
    let asker = Asker { owner: &me, ttl: ttl() };
    let before = before(row);
    let seen = before.as_ref();
    match operation {
        "take" => words(rules::take(seen, asker, reading()).map(Result::unwrap), |a| match a {
            TakeOutcome::Taken { .. } => "Taken",
            TakeOutcome::BeingDestroyed => "BeingDestroyed",
        }),
        "claim(Keep)" => claim(seen, Intent::Keep, asker),
        "claim(Destroy)" => claim(seen, Intent::Destroy, asker),
        "claim(DestroyTenure f)" => claim(seen, Intent::DestroyTenure(fence(F)), asker),
        "renew" => words(rules::renew(seen, asker, reading()), |a| match a {
            RenewOutcome::Renewed(_) => "Renewed",
            RenewOutcome::Lapsed => "Lapsed",
            RenewOutcome::Lost => "Lost",
        }),
        "release" => words(rules::release(seen, None, asker, reading()), released),
        "release_tenure f" => words(rules::release(seen, Some(fence(F)), asker, reading()), released),
        _ => panic!("no column {operation}"),
    }
}

fn claim(before: Option<&Record>, intent: Intent, asker: Asker<'_>) -> String {
    words(rules::claim(before, intent, asker, reading()).map(Result::unwrap), |a| match a {
        ClaimOutcome::Claimed { .. } => "Claimed",
        ClaimOutcome::Refused => "Refused",
        ClaimOutcome::Lapsed => "Lapsed",
    })
}

fn released(answer: &ReleaseOutcome) -> &'static str {
    match answer {
        ReleaseOutcome::Released => "Released",
        ReleaseOutcome::NotHeld => "NotHeld",
    }
}

fn words<T>(step: Step<T>, say: impl Fn(&T) -> &'static str) -> String {
    let write = match step.write {
        Write::Nothing => "as it was".to_owned(),
        Write::Extend(to) => {
            assert_eq!(to, NOW + ttl().as_duration());
            "longer".to_owned()
        }
        Write::Put(record) => {
            assert_eq!((record.owner, record.expires), (owner("me"), NOW + ttl().as_duration()));
            format!("{} {}", record.phase, record.fence.unwrap())
        }
        Write::Remove => "absent".to_owned(),
    };
    format!("{} / {write}", say(&step.answer))
}

#[rstest::rstest]
#[case("absent", ["Taken / held 50", "Claimed / held 50", "Claimed / teardown 50", "Lapsed / as it was",
    "Lapsed / as it was", "NotHeld / as it was", "NotHeld / as it was"])]
#[case("mine, run out", ["Taken / held 71", "Claimed / held 71", "Claimed / teardown 71", "Lapsed / as it was",
    "Lapsed / as it was", "NotHeld / as it was", "NotHeld / as it was"])]
#[case("mine, Teardown, run out", ["Taken / held 71", "Claimed / held 71", "Claimed / teardown 71",
    "Lapsed / as it was", "Lapsed / as it was", "NotHeld / as it was", "NotHeld / as it was"])]
#[case("a peer's, run out", ["Taken / held 71", "Claimed / held 71", "Claimed / teardown 71", "Lapsed / as it was",
    "Lapsed / as it was", "NotHeld / as it was", "NotHeld / as it was"])]
#[case("mine, Held, fence f", ["Taken / held 71", "Claimed / longer", "Claimed / teardown 71",
    "Claimed / teardown 71", "Renewed / longer", "Released / absent", "Released / absent"])]
#[case("mine, Held, other fence", ["Taken / held 61", "Claimed / longer", "Claimed / teardown 61",
    "Refused / as it was", "Renewed / longer", "Released / absent", "NotHeld / as it was"])]
#[case("mine, Teardown, fence f", ["BeingDestroyed / as it was", "Refused / as it was", "Claimed / longer",
    "Claimed / longer", "Lost / as it was", "Released / absent", "Released / absent"])]
#[case("mine, Teardown, other fence", ["BeingDestroyed / as it was", "Refused / as it was", "Claimed / longer",
    "Refused / as it was", "Lost / as it was", "Released / absent", "NotHeld / as it was"])]
#[case("a peer's, Held", ["Taken / held 71", "Refused / as it was", "Refused / as it was", "Refused / as it was",
    "Lost / as it was", "NotHeld / as it was", "NotHeld / as it was"])]
#[case("a peer's, Teardown", ["BeingDestroyed / as it was", "Refused / as it was", "Refused / as it was",
    "Refused / as it was", "Lost / as it was", "NotHeld / as it was", "NotHeld / as it was"])]
#[case("my name, no fence", ["Taken / held 50", "Refused / as it was", "Refused / as it was", "Refused / as it was",
    "Lost / as it was", "NotHeld / as it was", "NotHeld / as it was"])]
fn every_cell_of_the_table_holds(#[case] row: &str, #[case] expected: [&str; 7]) {
    let columns = [
        "take",
        "claim(Keep)",
        "claim(Destroy)",
        "claim(DestroyTenure f)",
        "renew",
        "release",
        "release_tenure f",
    ];
    for (operation, expected) in columns.into_iter().zip(expected) {
        assert_eq!(cell(row, operation), expected, "{row}, {operation}");
    }
}

#[test]
fn taken_and_claimed_say_what_they_replaced() {
    let me = owner("me");
    let asker = Asker { owner: &me, ttl: ttl() };
    let replaced = |row: &str| match rules::take(before(row).as_ref(), asker, reading()).answer.unwrap() {
        TakeOutcome::Taken { replaced, .. } => replaced,
        TakeOutcome::BeingDestroyed => panic!("{row}"),
    };
    assert_eq!(replaced("absent"), Replaced::Nothing);
    assert_eq!(replaced("a peer's, run out"), Replaced::Nothing);
    assert_eq!(replaced("mine, Held, fence f"), Replaced::Mine(fence(F)));
    assert_eq!(replaced("a peer's, Held"), Replaced::Peer(owner("peer")));
    assert_eq!(replaced("my name, no fence"), Replaced::Peer(owner("me")));

    let refreshed = rules::claim(before("mine, Held, fence f").as_ref(), Intent::Keep, asker, reading());
    let tenure = Tenure { fence: fence(F), valid_until: NOW + ttl().as_duration() };
    assert_eq!(
        refreshed.answer.unwrap(),
        ClaimOutcome::Claimed { tenure, replaced: Replaced::Mine(fence(F)) }
    );
}

#[test]
fn a_lease_is_live_until_the_moment_it_expires_and_not_at_it() {
    let record = before("a peer's, Held").unwrap();
    let at = |now| rules::inspect(Some(&record), Reading { now, fence_floor: 0 });
    let last = Moment::from_nanos(record.expires.as_nanos() - 1);
    assert_eq!(at(last).unwrap().left, Duration::from_nanos(1));
    assert_eq!(at(record.expires), None);
}

#[test]
fn no_fence_is_made_up_when_none_is_left() {
    let me = owner("me");
    let asker = Asker { owner: &me, ttl: ttl() };
    let full = Record { fence: Some(Fence::MAX), ..before("a peer's, Held").unwrap() };
    let step = rules::take(Some(&full), asker, reading());
    assert!(step.answer.is_err());
    assert_eq!(step.write, Write::Nothing);
}

fn any_record() -> impl Strategy<Value = Option<Record>> {
    let who = prop_oneof![Just("me"), Just("peer")];
    let phase = prop_oneof![Just(Phase::Held), Just(Phase::Teardown)];
    let expires = NOW.as_nanos() - 1_000_000_000..NOW.as_nanos() + 1_000_000_000;
    proptest::option::of((who, phase, proptest::option::weighted(0.9, 1_u64..200), expires).prop_map(
        |(who, phase, n, expires)| Record {
            owner: owner(who),
            phase,
            fence: n.map(fence),
            expires: Moment::from_nanos(expires),
        },
    ))
}

proptest! {
    #[test]
    fn a_new_tenure_has_a_larger_fence_and_a_refresh_keeps_its_own(
        record in any_record(), floor in 1_u64..200, asked in 1_u64..200, ttl_ms in 1_u64..2_000,
        which in 0_usize..4,
    ) {
        let me = owner("me");
        let asker = Asker { owner: &me, ttl: Ttl::from_millis(ttl_ms).unwrap() };
        let reading = Reading { now: NOW, fence_floor: floor };
        let intent = [Intent::Keep, Intent::Destroy, Intent::DestroyTenure(fence(asked))];
        let (write, tenure) = match which {
            0 => {
                let step = rules::take(record.as_ref(), asker, reading);
                let tenure = match step.answer.unwrap() {
                    TakeOutcome::Taken { tenure, .. } => Some(tenure),
                    TakeOutcome::BeingDestroyed => None,
                };
                (step.write, tenure)
            }
            n => {
                let step = rules::claim(record.as_ref(), intent[n - 1], asker, reading);
                let tenure = match step.answer.unwrap() {
                    ClaimOutcome::Claimed { tenure, .. } => Some(tenure),
                    ClaimOutcome::Refused | ClaimOutcome::Lapsed => None,
                };
                (step.write, tenure)
            }
        };
        let old = record.as_ref().and_then(|r| r.fence);
        match (write, tenure) {
            (Write::Put(new), Some(tenure)) => {
                prop_assert_eq!(new.fence, Some(tenure.fence));
                prop_assert_eq!(new.expires, tenure.valid_until);
                prop_assert!(old.is_none_or(|old| tenure.fence > old));
                prop_assert!(tenure.fence.get() >= floor);
            }
            (Write::Extend(to), Some(tenure)) => {
                prop_assert_eq!(Some(tenure.fence), old);
                prop_assert!(to > record.unwrap().expires);
                prop_assert_eq!(to, tenure.valid_until);
            }
            (Write::Nothing, Some(tenure)) => {
                prop_assert_eq!(Some(tenure.fence), old);
                prop_assert_eq!(tenure.valid_until, record.unwrap().expires);
            }
            (write, None) => prop_assert_eq!(write, Write::Nothing),
            (Write::Remove, _) => prop_assert!(false, "neither take nor claim removes"),
        }
    }
}
