use std::time::Duration;

use leasehold::{
    BackendError, BackendErrorKind, BackendOperation, Condition, Identity, OwnerId, SandboxInfo, SandboxSpec,
    Seen, SessionKey,
};

use super::super::{BackendKit, Handle};
use crate::case::{Check, Stop, must};

/// Fails the case unless `info` is what `spec` asked for.
fn is_as_asked(info: &SandboxInfo, spec: &SandboxSpec) -> Check {
    must(info.id == spec.id, "the id that was asked for", &info.id)?;
    must(info.identity == spec.identity, "the identity that was asked for", &info.identity)?;
    must(info.creator == spec.creator, "the creator that was asked for", &info.creator)?;
    must(!info.condemned, "it is not condemned", info)
}

/// Fails the case unless the refusal is of this kind, which says that nothing was changed.
pub(super) fn refused<T: std::fmt::Debug>(answer: Result<T, BackendError>, kind: BackendErrorKind) -> Check {
    match answer {
        Err(error) if error.kind() == kind => Ok(()),
        other => Err(Stop::failed(format!("an error of kind {kind:?}"), other)),
    }
}

/// Fails the case unless the answer was lost, and the error says so.
pub(super) fn lost<T: std::fmt::Debug>(answer: Result<T, BackendError>) -> Check {
    match answer {
        Err(error) if error.may_have_happened() => Ok(()),
        other => Err(Stop::failed("an error that says that it may have happened", other)),
    }
}

pub(super) async fn what_is_made_is_what_was_asked_for(kit: &BackendKit) -> Check {
    let (maker, other) = (kit.open()?, kit.open()?);
    let spec = kit.spec("a");
    let made = maker.create(&spec).await??;
    is_as_asked(&made, &spec)?;
    let ready = maker.wait_ready(&made.instance).await??;
    must(ready.condition == Condition::Running, "it runs", &ready)?;
    for handle in [&maker, &other] {
        let found = handle.discover(&spec.id).await??;
        let found = found.ok_or_else(|| Stop::failed("discover finds what was made", "None"))?;
        let seen = kit.present(handle, &made.instance).await?;
        let listing = handle.list().await??;
        must(listing.unreadable.is_empty(), "all of the list can be read", &listing)?;
        must(listing.found.len() == 1, "a list of what was made and nothing else", &listing)?;
        for info in [&found, &seen, &listing.found[0]] {
            is_as_asked(info, &spec)?;
            must(info.instance == made.instance, "the instance that was made", info)?;
            must(info.condition == Condition::Running, "it runs", info)?;
            must(info.created == made.created, "created as create said", info)?;
        }
    }
    Ok(())
}

pub(super) async fn identities_are_kept_whole(kit: &BackendKit) -> Check {
    let handle = kit.open()?;
    let long = "n".repeat(255);
    let session = |user: &str, thread: &str| SessionKey::new(user, thread).ok();
    let identities = [
        (None, None),
        (None, Some("p")),
        (session("ada", "a/b:c=d"), None),
        (session("ada/a", "b"), Some("sha256:0a")),
        (session("Ada \"the\" \\ 'first', $HOME", "жук 🐞 {x}"), Some("p 1")),
        (session(&long, &long), None),
    ];
    for (nth, (session, policy)) in identities.into_iter().enumerate() {
        let namespace = kit.namespace().clone();
        let identity = Identity { namespace, session, policy: policy.map(Into::into) };
        let mut spec = kit.site().spec(&kit.id(&format!("i{nth}")), &identity);
        spec.creator = OwnerId::new(&format!("gw {nth}/ü:1")).unwrap_or(spec.creator);
        let made = handle.create(&spec).await??;
        is_as_asked(&made, &spec)?;
        is_as_asked(&kit.present(&kit.open()?, &made.instance).await?, &spec)?;
        let _ = handle.destroy(&made.instance).await??;
    }
    Ok(())
}

pub(super) async fn a_taken_name_is_a_conflict(kit: &BackendKit) -> Check {
    let (handle, made) = kit.made("a").await?;
    for handle in [&handle, &kit.open()?] {
        refused(handle.create(&kit.spec("a")).await?, BackendErrorKind::Conflict)?;
    }
    has_one(&handle, &made).await
}

/// Fails the case unless `made` has its name and is all that is listed.
async fn has_one(handle: &Handle, made: &SandboxInfo) -> Check {
    let found = handle.discover(&made.id).await??.map(|info| info.instance);
    must(found.as_ref() == Some(&made.instance), "the one that was made has the name", &found)?;
    let listing = handle.list().await??;
    let one = matches!(&listing.found[..], [only] if only.instance == made.instance);
    must(one, "the one that was made is all there is", &listing)
}

pub(super) async fn of_many_at_once_one_is_made(kit: &BackendKit) -> Check {
    const MANY: usize = 8;
    let mut racers = tokio::task::JoinSet::new();
    let start = std::sync::Arc::new(tokio::sync::Barrier::new(MANY));
    for _ in 0..MANY {
        let (handle, spec, start) = (kit.open()?, kit.spec("a"), start.clone());
        racers.spawn(async move {
            start.wait().await;
            handle.create(&spec).await
        });
    }
    let mut made = Vec::new();
    while let Some(raced) = racers.join_next().await {
        let answer = raced.map_err(|e| Stop::failed("an answer", e.to_string()))??;
        match answer {
            Ok(info) => made.push(info),
            refusal => refused(refusal, BackendErrorKind::Conflict)?,
        }
    }
    must(made.len() == 1, "one of them makes it", &made)?;
    has_one(&kit.open()?, &made[0]).await
}

pub(super) async fn every_instance_is_a_new_one(kit: &BackendKit) -> Check {
    let (handle, first) = kit.made("a").await?;
    let _ = handle.destroy(&first.instance).await??;
    let second = handle.create(&kit.spec("a")).await??;
    must(first.instance != second.instance, "another instance id than before", &second)?;
    let seen = handle.inspect(&first.instance).await??;
    must(seen == Seen::Gone, "the first is gone", &seen)?;
    has_one(&handle, &second).await
}

pub(super) async fn a_dropped_one_is_found(kit: &BackendKit) -> Check {
    for (nth, millis) in [0, 1, 3, 10, 30, 100].into_iter().enumerate() {
        let (handle, spec) = (kit.open()?, kit.spec(&format!("d{nth}")));
        let given_up = Duration::from_millis(millis);
        let early = tokio::time::timeout(given_up, handle.backend().create(&spec)).await;
        if early.is_err() {
            // What was given up may still land: the name is then ours or that one's, and nobody else's.
            match handle.create(&spec).await? {
                Ok(_) => {}
                refusal => refused(refusal, BackendErrorKind::Conflict)?,
            }
        }
        let expected = "discover finds what has the name after a create was given up";
        let find = || async { Ok(handle.discover(&spec.id).await??.is_some()) };
        kit.until(expected, find).await?;
        let found = handle.discover(&spec.id).await??;
        let found = found.ok_or_else(|| Stop::failed(expected, "None"))?;
        has_one(&handle, &found).await?;
        let _ = handle.destroy(&found.instance).await??;
        let expected = "nothing is left of a create that was given up and destroyed";
        kit.until(expected, || async { Ok(handle.list().await??.found.is_empty()) }).await?;
    }
    Ok(())
}

pub(super) async fn a_lost_reply_leaves_what_is_found(kit: &BackendKit) -> Check {
    let (handle, spec) = (kit.open()?, kit.spec("a"));
    kit.hook("lose_reply", kit.site().lose_reply(BackendOperation::Create)).await?;
    lost(handle.create(&spec).await?)?;
    let found = handle.discover(&spec.id).await??;
    let found =
        found.ok_or_else(|| Stop::failed("discover finds what was made without an answer", "None"))?;
    is_as_asked(&found, &spec)?;
    refused(handle.create(&spec).await?, BackendErrorKind::Conflict)?;
    has_one(&handle, &found).await
}
