//! F: a larger number for every new tenure, whatever happens in between.

use std::time::Duration;

use leasehold::{Fence, Intent, RenewOutcome};

use crate::case::{Check, Stop, must};
use crate::kit::{Kit, Store, claim, id, lease, take};

/// What may make a store forget a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forgotten {
    Released,
    RanOut,
    Discarded,
}

pub(super) fn every_tenure_has_a_larger_one(kit: &Kit<'_>) -> Check {
    let (me, peer) = (kit.open("me", Kit::SCENE)?, kit.open("peer", Kit::SCENE)?);
    let sbx = id("sbx-1");
    let mut last = None::<Fence>;
    let mut next = |fence: Fence| {
        let grown = last.is_none_or(|last| fence > last) && fence <= Fence::MAX;
        must(grown, "a larger fence below 2^53", (last, fence))?;
        last = Some(fence);
        Ok::<_, Stop>(())
    };
    for _ in 0..3 {
        next(take(&me, &sbx)?.fence)?;
        next(take(&me, &sbx)?.fence)?;
        next(take(&peer, &sbx)?.fence)?;
        next(take(&me, &sbx)?.fence)?;
        next(claim(&me, &sbx, Intent::Destroy)?.fence)?;
        let _ = me.release(&sbx)?;
        next(claim(&peer, &sbx, Intent::Keep)?.fence)?;
        next(claim(&peer, &sbx, Intent::Destroy)?.fence)?;
        let _ = peer.release(&sbx)?;
        next(claim(&me, &sbx, Intent::Destroy)?.fence)?;
        let _ = me.release(&sbx)?;
    }
    Ok(())
}

fn forget(kit: &Kit<'_>, how: Forgotten, store: &Store) -> Check {
    let sbx = id("sbx-1");
    match how {
        Forgotten::Released => store.release(&sbx).map(drop)?,
        Forgotten::RanOut => {
            kit.pass(kit.short() + store.quantum());
            // What ran out may only really go when others come: more of them than any store sweeps up at once.
            for n in 0..80 {
                let _ = take(store, &id(&format!("other-{n}")))?;
            }
            let _ = store.list()?;
        }
        Forgotten::Discarded => {
            let discarded = store.discard(&sbx, true)?;
            must(discarded == leasehold::DiscardOutcome::Discarded, "Discarded", discarded)?;
        }
    }
    Ok(())
}

pub(super) fn it_outlives_the_record(kit: &Kit<'_>, how: Forgotten) -> Check {
    let (me, peer) = (kit.open("me", kit.short())?, kit.open("peer", Kit::SCENE)?);
    let sbx = id("sbx-1");
    let before = take(&me, &sbx)?.fence;
    // A client's clock is set back: where it seeds fences, nothing but the record of what was helps now.
    kit.step_wall(-3_600_000_000);
    forget(kit, how, &me)?;
    let after = claim(&peer, &sbx, Intent::Keep)?.fence;
    must(after > before, &format!("above {before}"), after)?;
    let reopened = kit.open("third", Kit::SCENE)?;
    let last = take(&reopened, &sbx)?.fence;
    must(last > after, &format!("above {after}"), last)
}

pub(super) fn refreshes_keep_it(kit: &Kit<'_>) -> Check {
    let me = kit.open("me", Kit::SCENE)?;
    let (held, torn_down) = (id("held"), id("torn-down"));
    let (keep, destroy) = (take(&me, &held)?.fence, claim(&me, &torn_down, Intent::Destroy)?.fence);
    for _ in 0..3 {
        kit.nudge();
        let renewed = me.renew(&held)?;
        must(matches!(renewed, RenewOutcome::Renewed(t) if t.fence == keep), "the same fence", renewed)?;
        must(claim(&me, &held, Intent::Keep)?.fence == keep, "the same fence", keep)?;
        must(claim(&me, &torn_down, Intent::Destroy)?.fence == destroy, "the same fence", destroy)?;
        let beat = claim(&me, &torn_down, Intent::DestroyTenure(destroy))?;
        must(beat.fence == destroy, "the same fence", beat)?;
        must(lease(&me, &held)?.fence == Some(keep), "the same fence", keep)?;
    }
    Ok(())
}

pub(super) fn it_grows_after_the_server_lost_everything(kit: &Kit<'_>) -> Check {
    let faults = kit.faults()?;
    let me = kit.open("me", Kit::SCENE)?;
    let sbx = id("sbx-1");
    let before = take(&me, &sbx)?.fence;
    kit.pass(Duration::from_millis(5));
    faults.wipe()?;
    // The handle may meet the loss as an error first; then it must find its feet again by itself.
    let mut after = take(&me, &sbx);
    for _ in 0..10 {
        if after.is_ok() {
            break;
        }
        kit.pass(Duration::from_millis(20));
        after = take(&me, &sbx);
    }
    let after = after?.fence;
    must(after > before, &format!("above {before}"), after)
}
