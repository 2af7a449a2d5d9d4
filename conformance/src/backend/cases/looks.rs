use std::collections::BTreeSet;

use leasehold::{Condition, Seen};

use super::super::BackendKit;
use crate::case::{Check, Stop, must};

pub(super) async fn what_is_not_there_is_none(kit: &BackendKit) -> Check {
    let handle = kit.open()?;
    let found = handle.discover(&kit.id("a")).await??;
    must(found.is_none(), "None of an id that nobody has", &found)?;
    let listing = handle.list().await??;
    must(listing.found.is_empty() && listing.unreadable.is_empty(), "an empty list", &listing)?;
    let (_, made) = kit.made("b").await?;
    let found = handle.discover(&kit.id("a")).await??;
    must(found.is_none(), "None of an id that nobody has, beside one that somebody has", &found)?;
    let _ = handle.destroy(&made.instance).await??;
    let found = handle.discover(&made.id).await??;
    must(found.is_none(), "None of an id that nobody has any more", &found)
}

pub(super) async fn one_that_ended_is_not_running(kit: &BackendKit) -> Check {
    let (handle, made) = kit.ready("a").await?;
    kit.hook("kill", kit.site().kill(&made.instance)).await?;
    let look = || async { Ok(!runs(&handle.inspect(&made.instance).await??)) };
    kit.until("inspect sees soon that it runs no more", look).await?;
    let seen = handle.inspect(&made.instance).await??;
    let ended = match &seen {
        Seen::Gone => true,
        Seen::Present(info) => matches!(info.condition, Condition::Ended(_)) && !info.condemned,
    };
    must(ended, "Ended or gone", &seen)?;
    let shown = [handle.discover(&made.id).await??, kit.open()?.discover(&made.id).await??];
    let listed = handle.list().await??.found.into_iter().map(Some);
    for info in shown.into_iter().chain(listed).flatten() {
        let ended = info.instance == made.instance && matches!(info.condition, Condition::Ended(_));
        must(ended && !info.is_usable(), "discover and list show it as Ended too", &info)?;
    }
    Ok(())
}

fn runs(seen: &Seen) -> bool {
    matches!(seen, Seen::Present(info) if info.condition == Condition::Running)
}

pub(super) async fn one_that_is_paused_is_not_running(kit: &BackendKit) -> Check {
    let (handle, made) = kit.ready("a").await?;
    kit.hook("pause", kit.site().pause(&made.instance)).await?;
    let look = || async { Ok(!runs(&handle.inspect(&made.instance).await??)) };
    kit.until("inspect sees soon that it does not run", look).await?;
    let seen = kit.present(&handle, &made.instance).await?;
    let found = handle.discover(&made.id).await??;
    let found = found.ok_or_else(|| Stop::failed("a paused instance keeps its name", "None"))?;
    for info in [seen, found] {
        let paused = matches!(info.condition, Condition::Stopped(_)) && !info.is_usable();
        must(paused, "Stopped: neither usable nor ended", &info)?;
    }
    Ok(())
}

pub(super) async fn what_can_not_be_read_is_unknown(kit: &BackendKit) -> Check {
    let (handle, made) = kit.made("a").await?;
    let id = kit.id("b");
    kit.hook("plant_unreadable", kit.site().plant_unreadable(&id)).await?;
    let found = handle.discover(&id).await?;
    must(found.is_err(), "an error to discover, since it can't be told what is there", &found)?;
    let listing = handle.list().await??;
    must(listing.unreadable.len() == 1, "one row of unreadable", &listing)?;
    must(!listing.unreadable[0].why.trim().is_empty(), "a reason why it can't be read", &listing)?;
    let others: Vec<_> = listing.found.iter().map(|info| &info.instance).collect();
    must(others == [&made.instance], "the other one beside it, as it is", &listing)?;
    let again = handle.create(&kit.spec("b")).await?;
    must(again.is_err(), "no other sandbox under a name of which nobody knows who has it", &again)
}

pub(super) async fn list_has_all_of_the_namespace(kit: &BackendKit) -> Check {
    let handle = kit.open()?;
    let mut made = BTreeSet::new();
    for nth in 0..4 {
        made.insert(handle.create(&kit.spec(&format!("l{nth}"))).await??.instance);
    }
    let first = made.first().cloned().ok_or_else(|| Stop::failed("four made", &made))?;
    let _ = handle.condemn(&first).await??;
    made.insert(handle.create(&kit.spec("l4")).await??.instance);
    for handle in [&handle, &kit.open()?] {
        let listing = handle.list().await??;
        let listed: BTreeSet<_> = listing.found.iter().map(|info| info.instance.clone()).collect();
        must(listed == made && listing.found.len() == made.len(), "each of the five once", &listing)?;
        must(listing.unreadable.is_empty(), "nothing that can't be read", &listing)?;
        for info in listing.found {
            let seen = kit.present(handle, &info.instance).await?;
            must(info.condemned == (info.instance == first), "the first as condemned, and no other", &info)?;
            let (listed, seen) = ((&info.id, &info.identity, &info.creator, info.condemned), &seen);
            let same = listed == (&seen.id, &seen.identity, &seen.creator, seen.condemned);
            must(same, "each as inspect shows it", (&listed, seen))?;
        }
    }
    Ok(())
}
