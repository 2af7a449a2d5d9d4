use leasehold::{
    BackendErrorKind, Command, Condemned, Condition, Destroyed, InstanceId, SandboxId, SandboxInfo, Seen,
};

use super::super::{BackendKit, Handle};
use super::{create::refused, says};
use crate::case::{Check, Stop, must};

pub(super) async fn neighbours_are_told_apart(kit: &BackendKit) -> Check {
    let handle = kit.open()?;
    let longest = |last: char| {
        let room = SandboxId::MAX_LEN - kit.id("").as_str().len() - 1;
        kit.id(&format!("{}{last}", "x".repeat(room)))
    };
    let ids = [
        kit.id("a"),
        kit.id("a-b"),
        kit.id("a.b"),
        kit.id("a_b"),
        kit.id("A"),
        kit.id("aa"),
        longest('y'),
        longest('z'),
    ];
    let mut made = Vec::new();
    for id in &ids {
        // Those before it are there by now, and would show if it were taken for one of them.
        let found = handle.discover(id).await??;
        must(found.is_none(), "None before it is made", &found)?;
        made.push(handle.create(&kit.site().spec(id, &kit.identity())).await??);
    }
    for info in &made {
        has_its_name(&handle, info).await?;
    }
    let _ = handle.destroy(&made[0].instance).await??;
    let found = handle.discover(&made[0].id).await??;
    must(found.is_none(), "None once it was destroyed", &found)?;
    for info in &made[1..] {
        has_its_name(&handle, info).await?;
    }
    Ok(())
}

async fn has_its_name(handle: &Handle, made: &SandboxInfo) -> Check {
    let found = handle.discover(&made.id).await??;
    let same = found.as_ref().is_some_and(|info| (&info.id, &info.instance) == (&made.id, &made.instance));
    must(same, &format!("{} has the name {}", made.instance, made.id), &found)
}

pub(super) async fn other_namespaces_are_invisible(kit: &BackendKit) -> Check {
    let (ours, theirs) = (kit.open()?, kit.open_for(&kit.neighbour())?);
    let mut identity = kit.identity();
    identity.namespace = kit.neighbour();
    let made = ours.create(&kit.spec("a")).await??;
    // An engine with one room for all names says so; one with a room for each makes it.
    let second = match theirs.create(&kit.site().spec(&made.id, &identity)).await? {
        Ok(info) => Some(info),
        refusal => {
            refused(refusal, BackendErrorKind::Foreign)?;
            None
        }
    };
    let alone = theirs.create(&kit.site().spec(&kit.id("b"), &identity)).await??;
    sees_only(&ours, &[Some(&made)]).await?;
    sees_only(&theirs, &[second.as_ref(), Some(&alone)]).await?;
    for (handle, id, own) in [(&theirs, &made.id, second.as_ref()), (&ours, &alone.id, None)] {
        let own = own.map(|info| &info.instance);
        match handle.discover(id).await? {
            Ok(found) => {
                let found = found.map(|info| info.instance);
                must(found.as_ref() == own, "nothing of the other namespace", &found)?;
            }
            refusal => refused(refusal, BackendErrorKind::Foreign)?,
        }
    }
    Ok(())
}

async fn sees_only(handle: &Handle, made: &[Option<&SandboxInfo>]) -> Check {
    let listing = handle.list().await??;
    let mut own: Vec<_> = made.iter().flatten().map(|info| &info.instance).collect();
    let mut listed: Vec<_> = listing.found.iter().map(|info| &info.instance).collect();
    own.sort();
    listed.sort();
    let only = own == listed && listing.unreadable.is_empty();
    must(only, "a list of the handle's own namespace and nothing else", &listing)
}

/// Fails the case if any call on `instance` does something or says that it is there.
async fn touches_nothing(handle: &Handle, instance: &InstanceId, gone_is_right: bool) -> Check {
    let expected = |call: &str| {
        let or_gone = if gone_is_right { ", or that it is gone," } else { "" };
        format!("an error{or_gone} of {call} of {instance:?}")
    };
    let seen = handle.inspect(instance).await?;
    let right = seen.is_err() || gone_is_right && says(&seen, &Seen::Gone);
    must(right, &expected("inspect"), &seen)?;
    let ready = handle.wait_ready(instance).await?;
    must(ready.is_err(), &expected("wait_ready"), &ready)?;
    let started = handle.exec(instance, Command::new("true")).await?.map(|_| "a command was started");
    must(started.is_err(), &expected("exec"), &started)?;
    let condemned = handle.condemn(instance).await?;
    let right = condemned.is_err() || gone_is_right && says(&condemned, &Condemned::Gone);
    must(right, &expected("condemn"), &condemned)?;
    let destroyed = handle.destroy(instance).await?;
    let right = destroyed.is_err() || gone_is_right && says(&destroyed, &Destroyed::AlreadyGone);
    must(right, &expected("destroy"), &destroyed)?;
    Ok(())
}

pub(super) async fn an_instance_of_another_namespace_is_left_alone(kit: &BackendKit) -> Check {
    let (ours, made) = kit.ready("a").await?;
    let theirs = kit.open_for(&kit.neighbour())?;
    touches_nothing(&theirs, &made.instance, false).await?;
    is_untouched(kit, &ours, &made).await
}

async fn is_untouched(kit: &BackendKit, handle: &Handle, made: &SandboxInfo) -> Check {
    let seen = kit.present(handle, &made.instance).await?;
    must(!seen.condemned && seen.condition == Condition::Running, "it runs as before", &seen)?;
    has_its_name(handle, made).await
}

pub(super) async fn what_is_no_instance_touches_none(kit: &BackendKit) -> Check {
    let (handle, made) = kit.ready("a").await?;
    let whole = made.instance.as_str();
    let half: String = whole.chars().take(whole.chars().count() / 2).collect();
    let texts = [
        made.id.as_str(),
        &half,
        "",
        ".",
        "..",
        "../../etc/passwd",
        "a/../a",
        "a\0b",
        "a\nb",
        "a b",
        "*",
        "?force=true",
        "%2e%2e",
        &format!("{whole}/"),
        &format!("{whole}x"),
        &format!(" {whole}"),
        &format!("{whole}?force=1"),
        &"x".repeat(5_000),
    ];
    for text in texts {
        touches_nothing(&handle, &InstanceId::new(text), true).await?;
        is_untouched(kit, &handle, &made).await?;
    }
    Ok(())
}

pub(super) async fn a_foreign_thing_is_left_alone(kit: &BackendKit) -> Check {
    let (handle, id) = (kit.open()?, kit.id("a"));
    kit.hook("plant_foreign", kit.site().plant_foreign(&id)).await?;
    refused(handle.create(&kit.spec("a")).await?, BackendErrorKind::Foreign)?;
    match handle.discover(&id).await? {
        Ok(found) => must(found.is_none(), "None, or an error that says whose it is", &found)?,
        refusal => refused(refusal, BackendErrorKind::Foreign)?,
    }
    let listing = handle.list().await??;
    must(listing.found.is_empty() && listing.unreadable.is_empty(), "an empty list", &listing)?;
    if kit.hook("foreign_is_there", kit.site().foreign_is_there(&id)).await? {
        return Ok(());
    }
    Err(Stop::failed("the foreign thing is there as it was", "it is not"))
}
