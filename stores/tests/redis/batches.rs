//! `renew_many`: in order, each id for itself, and certain or an error.

use std::sync::atomic::{AtomicUsize, Ordering};

use leasehold::{ErrorKind, Intent, RenewOutcome, SandboxId, Stage};

use crate::scripted::{Act, Scripted, refusal};
use crate::support::{LONG, ask, id, open, space, taken};

fn ids(count: usize) -> Vec<SandboxId> {
    (0..count).map(|n| id(&format!("sbx-{n}"))).collect()
}

#[test]
fn a_batch_answers_each_id_as_a_single_renewal_would_across_chunks() {
    let Some(space) = space() else { return };
    let store = space.open_with("gw-1", LONG, "&chunk=3");
    let (peer, mut raw, ids) = (space.open("gw-2", LONG), space.raw(), ids(20));
    for (n, id) in ids.iter().enumerate() {
        match n % 5 {
            0 => drop(taken(store.as_ref(), id)),
            1 => drop(taken(peer.as_ref(), id)),
            2 => drop(store.claim(id, Intent::Destroy).unwrap()),
            3 => drop(ask(&mut raw, &["RPUSH", &space.key(id), "x"])),
            _ => {}
        }
    }
    let outcomes = store.renew_many(&ids);
    assert_eq!(outcomes.len(), ids.len());
    for ((n, id), outcome) in ids.iter().enumerate().zip(outcomes) {
        match (n % 5, outcome) {
            (0, Ok(RenewOutcome::Renewed(tenure))) => {
                assert_eq!(store.inspect(id).unwrap().unwrap().fence, Some(tenure.fence), "{id}");
            }
            (1 | 2, Ok(RenewOutcome::Lost)) | (4, Ok(RenewOutcome::Lapsed)) => {}
            (3, Err(error)) => {
                assert_eq!((error.kind(), error.id()), (ErrorKind::Corrupt, Some(id)));
            }
            (_, outcome) => panic!("{id}: {outcome:?}"),
        }
    }
}

#[test]
fn an_empty_batch_asks_nobody() {
    let store = open("redis://127.0.0.1:1/0", "gw-1", LONG).unwrap();
    assert!(store.renew_many(&[]).is_empty());
}

/// What a script says of a batch: each id renewed, under a fence of the number in its name and one.
fn all_renewed(words: &[String]) -> Vec<u8> {
    let count: usize = words[2].parse().unwrap();
    let fences =
        words[3..3 + count].iter().map(|key| key.rsplit('-').next().unwrap().parse::<u64>().unwrap() + 1);
    said(&fences.map(|fence| fence.to_string()).collect::<Vec<_>>().join("\n"))
}

fn said(text: &str) -> Vec<u8> {
    format!("${}\r\n{text}\r\n", text.len()).into_bytes()
}

#[test]
fn when_the_server_fails_midway_what_is_certain_stays_and_nothing_goes_to_another_id() {
    let failures: [fn(&[String]) -> Act; 6] = [
        |_| Act::SayAndEnd(Vec::new()),
        |words| Act::SayAndEnd(all_renewed(words)[..5].to_vec()),
        |_| refusal("READONLY You can't write against a read only replica."),
        |_| Act::Say(said("3")),
        |_| Act::Say(said("3\nOK")),
        |_| Act::Say(b"*2\r\n:3\r\n:4\r\n".to_vec()),
    ];
    for (case, fail) in failures.into_iter().enumerate() {
        let count = AtomicUsize::new(0);
        let server = Scripted::greeting(move |_, _, words| {
            if count.fetch_add(1, Ordering::Relaxed) == 1 {
                fail(words)
            } else {
                Act::Say(all_renewed(words))
            }
        });
        let store = open(&format!("{}?chunk=2", server.url()), "gw-1", LONG).unwrap();
        for (n, outcome) in store.renew_many(&ids(6)).into_iter().enumerate() {
            match outcome {
                Ok(RenewOutcome::Renewed(tenure)) => {
                    assert_eq!(tenure.fence.get(), n as u64 + 1, "case {case}")
                }
                Ok(other) => panic!("case {case}: {other:?}"),
                Err(error) => {
                    assert!(n == 2 || n == 3, "case {case}, id {n}: {error}");
                    assert_eq!(error.id(), Some(&id(&format!("sbx-{n}"))));
                    assert!(error.may_have_happened(), "case {case}: {error}");
                }
            }
        }
    }
}

#[test]
fn a_batch_as_a_whole_has_one_deadline() {
    let server = Scripted::greeting(|_, _, _| Act::Hang);
    let store = open(&format!("{}?chunk=1&deadline_ms=200", server.url()), "gw-1", LONG).unwrap();
    let outcomes = store.renew_many(&ids(500));
    let stages: Vec<_> = outcomes.into_iter().map(|outcome| outcome.unwrap_err().stage()).collect();
    assert_eq!(stages[0], Some(Stage::Reply));
    assert!(stages[1..].iter().all(|stage| *stage != Some(Stage::Reply)), "the others were never sent");
}
