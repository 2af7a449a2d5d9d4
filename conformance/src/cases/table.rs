//! The lease table, cell by cell: the answer, and what is there afterwards.

use std::time::Duration;

use leasehold::{
    ClaimOutcome, Fence, Intent, Phase, ReleaseOutcome, RenewOutcome, Replaced, SandboxId, TakeOutcome,
    Tenure,
};

use crate::case::{Check, Stop, must};
use crate::kit::{Kit, Store, absent, claim, fence, id, lease, take};

/// What is there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    Absent,
    /// Mine, under the tenure that is asked about.
    Mine(Phase),
    /// Mine, under another tenure than the one that is asked about.
    MineSince(Phase),
    Peers(Phase),
}

/// What is asked, as the columns of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Take,
    Keep,
    Destroy,
    DestroyTenure,
    Renew,
    Release,
    ReleaseTenure,
}

/// What has to come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// A new tenure of mine in this phase.
    Begun(Phase),
    /// The same tenure for another TTL.
    Refreshed,
    /// Absent.
    Gone,
    /// This answer, and everything as it was.
    Same(&'static str),
}

/// One cell of the table, with all that it stands for: an operation that asks by no fence answers alike whichever tenure of
/// mine it finds, and one that does finds neither an older nor a newer fence to be the lease's.
pub(super) fn cell(kit: &Kit<'_>, row: Row, op: Op, then: Then) -> Check {
    let by_fence = matches!(op, Op::DestroyTenure | Op::ReleaseTenure);
    match row {
        Row::Mine(phase) if !by_fence => {
            one(kit, "this-tenure", row, op, Asked::AsSet, then)?;
            one(kit, "a-later-tenure", Row::MineSince(phase), op, Asked::AsSet, then)
        }
        Row::MineSince(_) | Row::Peers(_) if by_fence => {
            one(kit, "as-set", row, op, Asked::AsSet, then)?;
            one(kit, "the-next", row, op, Asked::Next, then)?;
            one(kit, "the-smallest", row, op, Asked::Smallest, then)
        }
        _ => one(kit, "sbx-1", row, op, Asked::AsSet, then),
    }
}

/// By which fence to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// That of the row.
    AsSet,
    /// The one that follows the lease's.
    Next,
    /// The smallest there is, which nobody has had for a long time.
    Smallest,
}

/// Sets the scene, asks, and compares answer and state with what the table says.
fn one(kit: &Kit<'_>, text: &str, row: Row, op: Op, by: Asked, then: Then) -> Check {
    let sbx = id(text);
    let (scene, peer) = (kit.open("me", Kit::SCENE)?, kit.open("peer", Kit::SCENE)?);
    let me = kit.open("me", Kit::TESTED)?;
    let set = set(row, &sbx, &scene, &peer)?;
    let before = peer.inspect(&sbx)?;
    let current = before.as_ref().and_then(|lease| lease.fence);
    let asked = match by {
        Asked::AsSet => set,
        Asked::Next => Fence::following(current, 0).map_err(|e| Stop::Harness(e.to_string()))?,
        Asked::Smallest => Fence::MIN,
    };
    if by == Asked::Smallest && current == Some(asked) {
        // A store may well begin there, and then it is the lease's own.
        return Ok(());
    }
    let stored = kit.stored()?;
    let nudged = kit.nudge();

    let sent = kit.now();
    let (answer, tenure, replaced) = ask(&me, &sbx, op, asked)?;
    let answered = kit.now();

    let after = peer.inspect(&sbx)?;
    let context = || format!("{op:?} of {row:?}, {asked:?} asked → {then:?}");
    let wrong = |seen: String| Stop::Failed { expected: context(), seen };
    let left_is = |left: Duration, expected: Duration| {
        must(kit.is_about(left, expected), &format!("{}, {expected:?} left", context()), left)
    };
    match then {
        Then::Same(words) => {
            must(answer == words, &context(), &answer)?;
            match (&before, &after) {
                (None, None) => {
                    let now = kit.stored()?;
                    must(now == stored, &format!("{}, no trace of it", context()), now)?;
                }
                (Some(before), Some(after)) => {
                    let same = (&before.owner, before.phase, before.fence)
                        == (&after.owner, after.phase, after.fence);
                    must(same, &format!("{}, nothing changed", context()), after)?;
                    left_is(after.left, before.left.saturating_sub(nudged))?;
                }
                _ => return Err(wrong(format!("before {before:?}, after {after:?}"))),
            }
        }
        Then::Gone => {
            must(answer == "Released", &context(), &answer)?;
            absent(&peer, &sbx)?;
            absent(&me, &sbx)?;
        }
        Then::Begun(_) | Then::Refreshed => {
            let says = if matches!(op, Op::Renew) { "Renewed" } else { "Claimed" };
            must(answer == if op == Op::Take { "Taken" } else { says }, &context(), &answer)?;
            let (Some(after), Some(tenure)) = (after, tenure) else { return Err(wrong(answer)) };
            must(after.owner == *me.owner(), &format!("{}, mine", context()), &after)?;
            must(
                after.fence == Some(tenure.fence),
                &format!("{}, the answer's fence", context()),
                (&after, tenure),
            )?;
            left_is(after.left, Kit::TESTED)?;
            let (low, high) = (sent + Kit::TESTED, answered + Kit::TESTED);
            let within = tenure.valid_until >= low && tenure.valid_until <= high;
            must(within, &format!("{}, valid_until from {low:?} to {high:?}", context()), tenure)?;
            let old = before.as_ref().and_then(|lease| lease.fence);
            match then {
                Then::Begun(phase) => {
                    must(after.phase == phase, &format!("{}, {phase}", context()), &after)?;
                    must(old.is_none_or(|old| tenure.fence > old), "a larger fence", (old, tenure))?;
                }
                _ => {
                    must(old == Some(tenure.fence), &format!("{}, the same fence", context()), tenure)?;
                    must(before.as_ref().map(|l| l.phase) == Some(after.phase), "the same phase", &after)?;
                }
            }
            let expected = match (row, before) {
                (Row::Absent, _) | (_, None) => Replaced::Nothing,
                (Row::Peers(_), Some(lease)) => Replaced::Peer(lease.owner),
                (_, Some(lease)) => Replaced::Mine(fence(&lease)?),
            };
            if let Some(replaced) = replaced {
                must(replaced == expected, &format!("{}, replaced {expected:?}", context()), replaced)?;
            }
        }
    }
    Ok(())
}

/// Brings the row about, and says with which fence to ask.
fn set(row: Row, sbx: &SandboxId, me: &Store, peer: &Store) -> Result<Fence, Stop> {
    let hold = |store: &Store, phase| match phase {
        Phase::Held => take(store, sbx),
        Phase::Teardown => claim(store, sbx, Intent::Destroy),
    };
    Ok(match row {
        Row::Absent => Fence::MIN,
        Row::Mine(phase) => hold(me, phase)?.fence,
        Row::MineSince(phase) => {
            let old = take(me, sbx)?.fence;
            let new = if phase == Phase::Held { take(me, sbx)? } else { claim(me, sbx, Intent::Destroy)? };
            must(new.fence > old, "a larger fence for a new tenure", (old, new))?;
            old
        }
        Row::Peers(phase) => hold(peer, phase)?.fence,
    })
}

type Answer = (String, Option<Tenure>, Option<Replaced>);

fn ask(me: &Store, sbx: &SandboxId, op: Op, asked: Fence) -> Result<Answer, Stop> {
    let claimed = |outcome| match outcome {
        ClaimOutcome::Claimed { tenure, replaced } => ("Claimed".to_owned(), Some(tenure), Some(replaced)),
        other => (format!("{other:?}"), None, None),
    };
    let released = |outcome: ReleaseOutcome| (format!("{outcome:?}"), None, None);
    Ok(match op {
        Op::Take => match me.take(sbx)? {
            TakeOutcome::Taken { tenure, replaced } => ("Taken".to_owned(), Some(tenure), Some(replaced)),
            other => (format!("{other:?}"), None, None),
        },
        Op::Keep => claimed(me.claim(sbx, Intent::Keep)?),
        Op::Destroy => claimed(me.claim(sbx, Intent::Destroy)?),
        Op::DestroyTenure => claimed(me.claim(sbx, Intent::DestroyTenure(asked))?),
        Op::Renew => match me.renew(sbx)? {
            RenewOutcome::Renewed(tenure) => ("Renewed".to_owned(), Some(tenure), None),
            other => (format!("{other:?}"), None, None),
        },
        Op::Release => released(me.release(sbx)?),
        Op::ReleaseTenure => released(me.release_tenure(sbx, asked)?),
    })
}

/// Every operation on a lease that ran out finds nothing there, whoever's it was and in whichever phase.
pub(super) fn run_out_is_absent(kit: &Kit<'_>, phase: Phase) -> Check {
    let ops = [
        (Op::Take, Then::Begun(Phase::Held)),
        (Op::Keep, Then::Begun(Phase::Held)),
        (Op::Destroy, Then::Begun(Phase::Teardown)),
        (Op::DestroyTenure, Then::Same("Lapsed")),
        (Op::Renew, Then::Same("Lapsed")),
        (Op::Release, Then::Same("NotHeld")),
        (Op::ReleaseTenure, Then::Same("NotHeld")),
    ];
    let scenes: Vec<_> = ["me", "peer"]
        .into_iter()
        .flat_map(|who| ops.into_iter().map(move |op| (who, op)))
        .enumerate()
        .collect();
    let mut fences = Vec::new();
    for (n, (who, _)) in &scenes {
        let store = kit.open(who, kit.short())?;
        let sbx = id(&format!("sbx-{n}"));
        fences.push(match phase {
            Phase::Held => take(&store, &sbx)?.fence,
            Phase::Teardown => claim(&store, &sbx, Intent::Destroy)?.fence,
        });
    }
    let me = kit.open("me", Kit::TESTED)?;
    kit.pass(kit.short() + me.quantum());
    for (n, (who, (op, then))) in scenes {
        let sbx = id(&format!("sbx-{n}"));
        let (answer, tenure, replaced) = ask(&me, &sbx, op, fences[n])?;
        let context = format!("{op:?} of a {phase} of {who} that ran out → {then:?}");
        match then {
            Then::Same(words) => {
                must(answer == words, &context, &answer)?;
                absent(&me, &sbx)?;
            }
            _ => {
                must(replaced == Some(Replaced::Nothing), &context, (&answer, &replaced))?;
                let after = lease(&me, &sbx)?;
                let larger = tenure.is_some_and(|tenure| tenure.fence > fences[n]);
                must(larger, &format!("{context}, a fence above {}", fences[n]), tenure)?;
                must(Then::Begun(after.phase) == then, &context, after)?;
            }
        }
    }
    Ok(())
}
