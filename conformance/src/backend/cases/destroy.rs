use std::time::Duration;

use leasehold::{BackendOperation, Condition, Destroyed, InstanceId, Seen};

use super::super::{BackendKit, Handle};
use super::{create::lost, says};
use crate::case::{Check, Stop, must};

/// Fails the case unless nothing is left of the instance.
async fn is_gone(handle: &Handle, instance: &InstanceId) -> Check {
    let seen = handle.inspect(instance).await?;
    must(says(&seen, &Seen::Gone), "Gone", &seen)?;
    let listing = handle.list().await??;
    let listed = listing.found.iter().any(|info| info.instance == *instance);
    must(!listed && listing.unreadable.is_empty(), "it is not listed any more", &listing)
}

pub(super) async fn all_of_it_goes(kit: &BackendKit) -> Check {
    for condemned in [false, true] {
        let (handle, made) = kit.ready("a").await?;
        if condemned {
            let _ = handle.condemn(&made.instance).await??;
        }
        let destroyed = handle.destroy(&made.instance).await??;
        must(destroyed == Destroyed::Destroyed, "Destroyed", destroyed)?;
        for handle in [&handle, &kit.open()?] {
            is_gone(handle, &made.instance).await?;
            let found = handle.discover(&made.id).await??;
            must(found.is_none(), "nobody discovers it any more", &found)?;
        }
    }
    Ok(())
}

pub(super) async fn twice_is_harmless(kit: &BackendKit) -> Check {
    let (handle, made) = kit.made("a").await?;
    let _ = handle.destroy(&made.instance).await??;
    for handle in [&handle, &kit.open()?] {
        let again = handle.destroy(&made.instance).await?;
        must(says(&again, &Destroyed::AlreadyGone), "AlreadyGone", &again)?;
    }
    Ok(())
}

pub(super) async fn goes_by_instance(kit: &BackendKit) -> Check {
    let (handle, first) = kit.made("a").await?;
    let _ = handle.condemn(&first.instance).await??;
    let second = handle.create(&kit.spec("a")).await??;
    let _ = handle.wait_ready(&second.instance).await??;
    for _ in 0..2 {
        // Late, and then too late: the name is the second's all the while.
        let _ = handle.destroy(&first.instance).await??;
        is_gone(&handle, &first.instance).await?;
        let seen = kit.present(&handle, &second.instance).await?;
        must(!seen.condemned && seen.condition == Condition::Running, "the second runs on", &seen)?;
        let found = handle.discover(&first.id).await??.map(|info| info.instance);
        must(found.as_ref() == Some(&second.instance), "the second has the name", &found)?;
    }
    Ok(())
}

pub(super) async fn of_one_that_ended_removes_it(kit: &BackendKit) -> Check {
    let (handle, made) = kit.ready("a").await?;
    kit.hook("kill", kit.site().kill(&made.instance)).await?;
    let destroyed = handle.destroy(&made.instance).await?;
    must(destroyed.is_ok(), "a success, of what is left of it", &destroyed)?;
    is_gone(&handle, &made.instance).await?;
    let found = handle.discover(&made.id).await??;
    must(found.is_none(), "its name is free", &found)
}

pub(super) async fn by_many_at_once_is_harmless(kit: &BackendKit) -> Check {
    let (handle, made) = kit.made("a").await?;
    let mut stops = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let (handle, instance) = (kit.open()?, made.instance.clone());
        stops.spawn(async move { handle.destroy(&instance).await });
    }
    while let Some(stopped) = stops.join_next().await {
        let answer = stopped.map_err(|e| Stop::failed("an answer", e.to_string()))??;
        must(answer.is_ok(), "each of them succeeds", &answer)?;
    }
    is_gone(&handle, &made.instance).await
}

pub(super) async fn a_dropped_one_converges(kit: &BackendKit) -> Check {
    for (nth, millis) in [0, 1, 3, 10, 30, 100].into_iter().enumerate() {
        let (handle, made) = kit.made(&format!("d{nth}")).await?;
        let given_up = Duration::from_millis(millis);
        let _ = tokio::time::timeout(given_up, handle.backend().destroy(&made.instance)).await;
        let again = kit.open()?.destroy(&made.instance).await?;
        must(again.is_ok(), "the next one brings it to its end", &again)?;
        is_gone(&handle, &made.instance).await?;
        let found = handle.discover(&made.id).await??;
        must(found.is_none(), "its name is free", &found)?;
    }
    Ok(())
}

pub(super) async fn a_lost_reply_converges(kit: &BackendKit) -> Check {
    let (handle, made) = kit.made("a").await?;
    kit.hook("lose_reply", kit.site().lose_reply(BackendOperation::Destroy)).await?;
    lost(handle.destroy(&made.instance).await?)?;
    let again = handle.destroy(&made.instance).await?;
    must(again.is_ok(), "a success, the next time", &again)?;
    is_gone(&handle, &made.instance).await
}
