//! Three answers to a look: it is there, it has surely ended, nobody can tell.

use leasehold::{BackendErrorKind, Condition, Destroyed, InstanceId, SandboxBackend};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Root, has_ended, id, is_gone, kill, present, runs, spec, state, until};

#[tokio::test]
async fn a_process_that_got_the_number_later_is_not_the_sandbox() {
    let root = Root::new();
    let backend = root.backend();
    let made = backend.create(&spec("a")).await.unwrap();
    let pid = root.pid_of(&made.instance);
    root.change_record(&made.instance, |record| {
        let start = record["process"]["start"].as_u64().unwrap();
        record["process"]["start"] = (start - 1).into();
        // The marker would show it to be the sandbox's after all.
        record["nonce"] = "0".repeat(32).into();
    });
    let found = backend.discover(&id("a")).await.unwrap().unwrap();
    assert!(has_ended(&found), "{found:?}");
    assert_eq!(backend.destroy(&found.instance).await.unwrap(), Destroyed::Destroyed);
    assert!(runs(pid), "a process that has the number by chance is not touched");
}

#[tokio::test]
async fn one_of_another_boot_has_ended_with_it() {
    let root = Root::new();
    let backend = root.backend();
    let made = backend.create(&spec("a")).await.unwrap();
    let pid = root.pid_of(&made.instance);
    root.change_record(&made.instance, |record| {
        record["boot"] = "8d9c1b2a-3f4e-4d5c-9b8a-7f6e5d4c3b2a".into();
        record["created"] = 1.into();
    });
    assert!(has_ended(&present(&backend, &made.instance).await));
    assert_eq!(backend.destroy(&made.instance).await.unwrap(), Destroyed::Destroyed);
    assert!(runs(pid), "the process of that number is of this boot");
}

#[tokio::test]
async fn one_that_may_live_where_nobody_here_can_look_is_an_error_and_stays() {
    let root = Root::new();
    let backend = root.backend();
    for (text, field, value) in [
        ("container", "pid_namespace", "pid:[1]"),
        ("time", "time_namespace", "time:[1]"),
        ("machine", "machine", "somewhere else"),
        ("kernel", "boot", "8d9c1b2a-3f4e-4d5c-9b8a-7f6e5d4c3b2a"),
    ] {
        let made = backend.create(&spec(text)).await.unwrap();
        let before = root.read_record(&made.instance);
        root.change_record(&made.instance, |record| record[field] = value.into());
        let told = [
            backend.inspect(&made.instance).await.map(drop).unwrap_err(),
            backend.discover(&id(text)).await.map(drop).unwrap_err(),
            backend.create(&spec(text)).await.map(drop).unwrap_err(),
            backend.destroy(&made.instance).await.map(drop).unwrap_err(),
        ];
        for error in told {
            assert_eq!(error.kind(), BackendErrorKind::Unavailable, "{text}: {error}");
        }
        let listing = backend.list().await.unwrap();
        assert!(listing.found.iter().all(|info| info.instance != made.instance));
        assert!(listing.unreadable.iter().any(|row| row.instance == made.instance), "{listing:?}");
        root.change_record(&made.instance, |record| *record = before);
        assert_eq!(present(&backend, &made.instance).await, made);
    }
}

#[tokio::test]
async fn one_that_a_signal_paused_may_run_again() {
    let root = Root::new();
    let backend = root.backend();
    let made = backend.create(&spec("a")).await.unwrap();
    let pid = root.pid_of(&made.instance);
    kill_process(Pid::from_raw(pid).unwrap(), Signal::STOP).unwrap();
    until("it is stopped", || state(pid) == Some('T')).await;
    let seen = present(&backend, &made.instance).await;
    assert!(matches!(seen.condition, Condition::Stopped(_)), "{seen:?}");
    kill_process(Pid::from_raw(pid).unwrap(), Signal::CONT).unwrap();
    until("it goes on", || state(pid) == Some('S')).await;
    assert_eq!(present(&backend, &made.instance).await, made);
    kill_process(Pid::from_raw(pid).unwrap(), Signal::STOP).unwrap();
    assert_eq!(backend.destroy(&made.instance).await.unwrap(), Destroyed::Destroyed);
    assert!(!runs(pid));
}

#[tokio::test]
async fn an_instance_nobody_made_is_gone_and_what_is_none_is_refused() {
    let root = Root::new();
    let backend = root.backend();
    let made = backend.create(&spec("a")).await.unwrap();
    let (before, _) = made.instance.as_str().rsplit_once('/').unwrap();
    let never = InstanceId::new(format!("{before}/{}", "0".repeat(32)));
    assert!(is_gone(&backend, &never).await);
    assert_eq!(backend.destroy(&never).await.unwrap(), Destroyed::AlreadyGone);
    for text in ["", "a", "../../etc", "x/../../etc/passwd", "x/a/b"] {
        let odd = InstanceId::new(text);
        for error in [
            backend.inspect(&odd).await.map(drop).unwrap_err(),
            backend.condemn(&odd).await.map(drop).unwrap_err(),
            backend.destroy(&odd).await.map(drop).unwrap_err(),
        ] {
            assert_eq!(error.kind(), BackendErrorKind::Invalid, "{text}: {error}");
        }
    }
}

#[tokio::test]
async fn no_zombie_stays_while_its_parent_lives() {
    let root = Root::new();
    let backend = root.backend();
    let mut pids = Vec::new();
    for number in 0..5 {
        let made = backend.create(&spec(&format!("s{number}"))).await.unwrap();
        pids.push(root.pid_of(&made.instance));
    }
    for pid in &pids {
        kill(*pid);
    }
    until("all were reaped", || pids.iter().all(|pid| state(*pid).is_none())).await;
    let last = backend.create(&spec("last")).await.unwrap();
    let pid = root.pid_of(&last.instance);
    drop(backend);
    kill(pid);
    until("one that outlived its backend was reaped", || state(pid).is_none()).await;
}

#[tokio::test]
async fn the_engine_is_the_same_for_all_who_share_the_root_and_another_for_others() {
    let (root, other) = (Root::new(), Root::new());
    let first = root.backend().engine_id().await.unwrap();
    assert_eq!(root.backend().engine_id().await.unwrap(), first);
    assert_ne!(other.backend().engine_id().await.unwrap(), first);
}
