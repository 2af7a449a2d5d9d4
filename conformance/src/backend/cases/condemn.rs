use leasehold::{BackendOperation, Condemned, Condition};

use super::super::BackendKit;
use super::{create::lost, says};
use crate::case::{Check, must};

pub(super) async fn it_loses_its_name_and_runs_on(kit: &BackendKit) -> Check {
    let (handle, made) = kit.ready("a").await?;
    let condemned = handle.condemn(&made.instance).await??;
    must(condemned == Condemned::Condemned, "Condemned", condemned)?;
    for handle in [&handle, &kit.open()?] {
        let found = handle.discover(&made.id).await??;
        must(found.is_none(), "nobody discovers it any more", &found)?;
        let seen = kit.present(handle, &made.instance).await?;
        must(seen.condemned && !seen.is_usable(), "it is shown as condemned", &seen)?;
        must(seen.condition == Condition::Running, "it runs on", &seen)?;
        let same = (&seen.id, &seen.identity, &seen.creator) == (&made.id, &made.identity, &made.creator);
        must(same, "whose it is can still be read", &seen)?;
    }
    Ok(())
}

pub(super) async fn the_name_is_free(kit: &BackendKit) -> Check {
    let (handle, first) = kit.made("a").await?;
    let _ = handle.condemn(&first.instance).await??;
    let second = handle.create(&kit.spec("a")).await??;
    must(second.instance != first.instance, "another instance", &second)?;
    let again = handle.condemn(&first.instance).await??;
    must(again == Condemned::Condemned, "Condemned", again)?;
    let found = handle.discover(&first.id).await??.map(|info| info.instance);
    must(found.as_ref() == Some(&second.instance), "the second has the name", &found)?;
    let seen = kit.present(&handle, &second.instance).await?;
    must(!seen.condemned, "the second is not condemned", &seen)
}

pub(super) async fn twice_is_harmless(kit: &BackendKit) -> Check {
    let (handle, made) = kit.made("a").await?;
    for handle in [&handle, &handle, &kit.open()?] {
        let condemned = handle.condemn(&made.instance).await?;
        must(says(&condemned, &Condemned::Condemned), "Condemned, every time", &condemned)?;
    }
    let seen = kit.present(&handle, &made.instance).await?;
    must(seen.condemned, "it is condemned", &seen)
}

pub(super) async fn of_a_gone_one_is_gone(kit: &BackendKit) -> Check {
    let (handle, made) = kit.made("a").await?;
    let _ = handle.destroy(&made.instance).await??;
    for handle in [&handle, &kit.open()?] {
        let condemned = handle.condemn(&made.instance).await?;
        must(says(&condemned, &Condemned::Gone), "Gone", &condemned)?;
    }
    Ok(())
}

pub(super) async fn a_lost_reply_converges(kit: &BackendKit) -> Check {
    let (handle, made) = kit.made("a").await?;
    kit.hook("lose_reply", kit.site().lose_reply(BackendOperation::Condemn)).await?;
    lost(handle.condemn(&made.instance).await?)?;
    let again = handle.condemn(&made.instance).await?;
    must(says(&again, &Condemned::Condemned), "Condemned, the next time", &again)?;
    let found = handle.discover(&made.id).await??;
    must(found.is_none(), "nobody discovers it any more", &found)
}
