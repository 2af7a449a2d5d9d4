use std::time::Duration;

use leasehold::{BackendErrorKind, Condition};

use super::super::{BackendKit, LAST_WORDS};
use super::create::refused;
use crate::case::{Check, Stop, must};

pub(super) async fn it_is_usable(kit: &BackendKit) -> Check {
    let (handle, made) = kit.made("a").await?;
    for handle in [&handle, &kit.open()?] {
        let ready = handle.wait_ready(&made.instance).await??;
        must(ready.instance == made.instance && ready.id == made.id, "the very instance", &ready)?;
        must(ready.is_usable(), "it can be used", &ready)?;
        let seen = kit.present(handle, &made.instance).await?;
        must(seen.endpoint == ready.endpoint, "the endpoint as wait_ready says", (&seen, &ready))?;
    }
    Ok(())
}

pub(super) async fn not_in_time_is_not_ready(kit: &BackendKit) -> Check {
    let handle = kit.open()?;
    let spec = kit.site().unready(kit.spec("a")).ok_or_else(|| Stop::not_applicable("none is offered"))?;
    let made = handle.create(&spec).await??;
    for patience in [Duration::ZERO, Duration::from_millis(200)] {
        let waiting = handle.backend().wait_ready(&made.instance, patience);
        refused(handle.within("wait_ready", waiting).await?, BackendErrorKind::NotReady)?;
    }
    let seen = kit.present(&handle, &made.instance).await?;
    must(seen.condition == Condition::Running, "it exists and runs", &seen)
}

pub(super) async fn one_that_ended_says_its_last_words(kit: &BackendKit) -> Check {
    let handle = kit.open()?;
    let spec = kit.site().ending(kit.spec("a")).ok_or_else(|| Stop::not_applicable("none is offered"))?;
    // An engine that waits a little sees its end while it is being made, and says the same then.
    let waited = match handle.create(&spec).await? {
        Ok(made) => {
            let whole = handle.backend().wait_ready(&made.instance, kit.abilities().patience * 3);
            handle.within("wait_ready, which ends at once when the sandbox has ended", whole).await?
        }
        failed => failed,
    };
    match waited {
        Err(error) if error.kind() == BackendErrorKind::Exited => {
            let said = format!("{error:?}");
            must(said.contains(LAST_WORDS), &format!("an error that repeats {LAST_WORDS}"), &said)
        }
        other => Err(Stop::failed("an error of kind Exited", other)),
    }
}

pub(super) async fn of_a_gone_one_is_missing(kit: &BackendKit) -> Check {
    let (handle, made) = kit.made("a").await?;
    let _ = handle.destroy(&made.instance).await??;
    let whole = handle.backend().wait_ready(&made.instance, kit.abilities().patience * 3);
    refused(handle.within("wait_ready of what is gone", whole).await?, BackendErrorKind::Missing)
}
