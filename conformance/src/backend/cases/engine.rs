use leasehold::{BackendError, BackendErrorKind, Command};

use super::super::BackendKit;
use crate::case::{Check, Stop, must};

pub(super) async fn handles_agree_on_what_they_are(kit: &BackendKit) -> Check {
    let neighbour = kit.neighbour();
    let (one, other, beside) = (kit.open()?, kit.open()?, kit.open_for(&neighbour)?);
    let engine = one.engine_id().await??;
    must(!engine.as_str().trim().is_empty(), "an engine id that says something", &engine)?;
    for (handle, namespace) in [(&one, kit.namespace()), (&other, kit.namespace()), (&beside, &neighbour)] {
        let same = handle.engine_id().await??;
        must(same == engine, "the engine id that another handle tells, each time", (&same, &engine))?;
        let backend = handle.backend();
        must(backend.namespace() == namespace, "the namespace it was opened for", backend.namespace())?;
        let kind = backend.kind();
        must(!kind.is_empty() && kind == one.backend().kind(), "the kind of the others", kind)?;
    }
    Ok(())
}

pub(super) async fn an_outage_is_an_error(kit: &BackendKit) -> Check {
    let (handle, made) = kit.ready("a").await?;
    let spec = kit.spec("b");
    kit.hook("cut", kit.site().cut()).await?;
    let during = async {
        unreachable("inspect", handle.inspect(&made.instance).await?)?;
        unreachable("discover of what is there", handle.discover(&made.id).await?)?;
        unreachable("discover of what is not", handle.discover(&spec.id).await?)?;
        unreachable("list", handle.list().await?)?;
        unreachable("create", handle.create(&spec).await?)?;
        unreachable("wait_ready", handle.wait_ready(&made.instance).await?)?;
        unreachable("condemn", handle.condemn(&made.instance).await?)?;
        unreachable("destroy", handle.destroy(&made.instance).await?)?;
        let started = handle.exec(&made.instance, Command::new("true")).await?;
        unreachable("exec", started.map(|_| "a command was started"))
    };
    let during: Check = during.await;
    kit.hook("mend", kit.site().mend()).await?;
    during?;
    let back = || async { Ok(handle.list().await?.is_ok()) };
    kit.until("an answer once the engine can be reached again", back).await?;
    let found = handle.discover(&made.id).await??;
    let same = found.as_ref().is_some_and(|info| info.instance == made.instance && info.is_usable());
    must(same, "all is as before", &found)
}

/// Fails the case unless the engine could not be reached, and the error says so.
fn unreachable<T: std::fmt::Debug>(call: &str, answer: Result<T, BackendError>) -> Check {
    match answer {
        Err(error) if matches!(error.kind(), BackendErrorKind::Unavailable | BackendErrorKind::Timeout) => {
            Ok(())
        }
        other => Err(Stop::failed(format!("Unavailable or Timeout of {call}"), other)),
    }
}
