//! The lease table of `docs/contract.md` and `leasehold::rules` say the same: the page is read cell by cell, and each cell is
//! asked of the rules, in every way in which its row can come about.

use std::time::Duration;

use leasehold::rules::{self, Asker};
use leasehold::{
    ClaimOutcome, Fence, Intent, Moment, OwnerId, Phase, Reading, Record, ReleaseOutcome, RenewOutcome,
    TakeOutcome, Ttl, Write,
};

const NOW: Moment = Moment::from_nanos(1_000_000_000_000);
const TTL: Duration = Duration::from_secs(60);
/// The fence f of the table's columns.
const F: u64 = 500;

fn me() -> OwnerId {
    OwnerId::new("me").unwrap()
}

fn fence(n: u64) -> Fence {
    Fence::new(n).unwrap()
}

/// Every way in which what the row says can be there.
fn ways(row: &str) -> Vec<Option<Record>> {
    let record = |owner: &str, phase, fence: Option<u64>, left: i64| {
        let expires = Moment::from_nanos(NOW.as_nanos().saturating_add_signed(left));
        let fence = fence.map(self::fence);
        Some(Record { owner: OwnerId::new(owner).unwrap(), phase, fence, expires })
    };
    let mut ways = Vec::new();
    // Less than a TTL left, so that a refresh shows; the last nanosecond; and more than a TTL, which nothing may shorten.
    for left in [30_000_000_000, 1, 90_000_000_000] {
        match row {
            "mine, Held, fence f" => ways.push(record("me", Phase::Held, Some(F), left)),
            "mine, Teardown, fence f" => ways.push(record("me", Phase::Teardown, Some(F), left)),
            "mine, Held, other fence" | "mine, Teardown, other fence" => {
                let phase = if row.contains("Held") { Phase::Held } else { Phase::Teardown };
                ways.extend([1, F - 1, F + 1, 9_000].map(|other| record("me", phase, Some(other), left)));
            }
            "a peer's, Held" | "a peer's, Teardown" => {
                let phase = if row.contains("Held") { Phase::Held } else { Phase::Teardown };
                ways.extend([Some(F), Some(F + 1), Some(1), None].map(|f| record("peer", phase, f, left)));
                // Every record of ours has a fence: one without it is a peer's, whatever name it bears.
                ways.push(record("me", phase, None, left));
            }
            "absent" => {}
            _ => panic!("the table has a row {row:?} that this test doesn't know"),
        }
    }
    if row == "absent" {
        ways.push(None);
        for (owner, phase) in
            ["me", "peer"].into_iter().flat_map(|o| [(o, Phase::Held), (o, Phase::Teardown)])
        {
            ways.extend([0, -1, -90_000_000_000].map(|left| record(owner, phase, Some(F), left)));
        }
    }
    ways
}

/// The cell in the words of the table.
fn cell(operation: &str, before: Option<&Record>, floor: u64) -> String {
    let me = me();
    let asker = Asker { owner: &me, ttl: Ttl::new(TTL).unwrap() };
    let reading = Reading { now: NOW, fence_floor: floor };
    let live = before.filter(|record| record.is_live(NOW));
    let claim = |intent| {
        let step = rules::claim(before, intent, asker, reading);
        match step.answer.unwrap() {
            ClaimOutcome::Claimed { .. } => format!("Claimed{}", became(before, &step.write)),
            other => unchanged(&step.write, format!("{other:?}")),
        }
    };
    let release = |tenure| {
        let step = rules::release(before, tenure, asker, reading);
        match step.answer {
            ReleaseOutcome::Released => {
                assert_eq!(step.write, Write::Remove, "{before:?}");
                "Released".to_owned()
            }
            ReleaseOutcome::NotHeld => unchanged(&step.write, "NotHeld".to_owned()),
        }
    };
    match operation {
        "take" => {
            let step = rules::take(before, asker, reading);
            match step.answer.unwrap() {
                TakeOutcome::Taken { .. } => {
                    assert_eq!(became(before, &step.write), " → Held", "{before:?}");
                    let mine = live.is_some_and(|r| r.owner == me && r.fence.is_some());
                    if mine { "Taken, new fence".to_owned() } else { "Taken".to_owned() }
                }
                TakeOutcome::BeingDestroyed => unchanged(&step.write, "BeingDestroyed".to_owned()),
            }
        }
        "claim(Keep)" => claim(Intent::Keep),
        "claim(Destroy)" => claim(Intent::Destroy),
        "claim(DestroyTenure f)" => claim(Intent::DestroyTenure(fence(F))),
        "renew" => {
            let step = rules::renew(before, asker, reading);
            match step.answer {
                RenewOutcome::Renewed(_) => {
                    assert_eq!(became(before, &step.write), ", refreshed", "{before:?}");
                    "Renewed".to_owned()
                }
                other => unchanged(&step.write, format!("{other:?}")),
            }
        }
        "release" => release(None),
        "release_tenure f" => release(Some(fence(F))),
        _ => panic!("the table has a column {operation:?} that this test doesn't know"),
    }
}

/// What a write that begins or refreshes a tenure makes of the record; the fence and the expiry are checked on the way.
fn became(before: Option<&Record>, write: &Write) -> String {
    let whole = NOW + TTL;
    match write {
        Write::Put(after) => {
            assert_eq!((&after.owner, after.expires), (&me(), whole), "a whole TTL, and mine");
            let larger = after.fence > before.and_then(|record| record.fence);
            assert!(larger && after.fence.is_some(), "a larger fence: {before:?} {after:?}");
            format!(" → {:?}", after.phase)
        }
        Write::Extend(to) => {
            assert_eq!(*to, whole);
            assert!(before.is_some_and(|record| record.expires < whole), "the later of the two: {before:?}");
            ", refreshed".to_owned()
        }
        Write::Nothing => {
            assert!(before.is_some_and(|record| record.expires >= whole), "nothing to extend: {before:?}");
            ", refreshed".to_owned()
        }
        Write::Remove => panic!("neither a beginning nor a refresh: {before:?}"),
    }
}

fn unchanged(write: &Write, answer: String) -> String {
    assert_eq!(*write, Write::Nothing, "{answer} leaves the record as it was");
    answer
}

/// The table on the page: its columns, and each row with its cells.
fn table() -> (Vec<String>, Vec<(String, Vec<String>)>) {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/contract.md");
    let text = std::fs::read_to_string(page).unwrap();
    let section = text.split("\n## The lease table\n").nth(1).unwrap();
    let mut rows = section.lines().skip_while(|line| !line.starts_with('|')).map_while(|line| {
        let cells = line.strip_prefix("| ")?.strip_suffix(" |")?;
        Some(cells.split(" | ").map(str::to_owned).collect::<Vec<_>>())
    });
    let columns = rows.next().unwrap()[1..].to_vec();
    assert!(rows.next().unwrap().iter().all(|cell| cell == "---"));
    (columns, rows.map(|cells| (cells[0].clone(), cells[1..].to_vec())).collect())
}

#[test]
fn every_cell_on_the_page_is_what_the_rules_do() {
    let (columns, rows) = table();
    assert_eq!((columns.len(), rows.len()), (7, 7), "{columns:?}");
    for (row, cells) in &rows {
        assert_eq!(cells.len(), columns.len(), "{row}");
        for (column, said) in columns.iter().zip(cells) {
            for before in ways(row) {
                for floor in [1, F, 1_000_000] {
                    let done = cell(column, before.as_ref(), floor);
                    assert_eq!(&done, said, "{row}, {column}: {before:?}, new fences from {floor}");
                }
            }
        }
    }
}

#[test]
fn the_rows_leave_nothing_out() {
    let (_, rows) = table();
    let on_the_page: Vec<_> = rows.iter().flat_map(|(row, _)| ways(row)).flatten().collect();
    for owner in ["me", "peer"] {
        for phase in [Phase::Held, Phase::Teardown] {
            for own_fence in [true, false] {
                for live in [true, false] {
                    let covered = on_the_page.iter().any(|record| {
                        record.owner.as_str() == owner
                            && record.phase == phase
                            && (record.fence == Some(fence(F))) == own_fence
                            && record.is_live(NOW) == live
                    });
                    // A record that ran out is absent, whatever its fence.
                    assert!(covered || !(live || own_fence), "{owner} {phase} {own_fence} {live}");
                }
            }
        }
    }
}
