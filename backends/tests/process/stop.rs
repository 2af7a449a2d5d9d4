//! A stop ends everything that is the sandbox's, within a bound, and removes it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use leasehold::{BackendErrorKind, Command, Deadline, Destroyed, SandboxBackend};
use leasehold_backends::process::ProcessBackend;

use crate::support::{Root, id, is_gone, kill, present, runs, sh, spec, until};

#[tokio::test]
async fn destroying_leaves_nothing_and_twice_is_a_success() {
    let root = Root::new();
    let backend = root.backend();
    let made = backend.create(&spec("a")).await.unwrap();
    sh(&backend, &made.instance, "mkdir -p deep/er; echo x > deep/er/file; ln -s / root").await;
    assert_eq!(backend.destroy(&made.instance).await.unwrap(), Destroyed::Destroyed);
    assert_eq!(root.processes(), Vec::<i32>::new());
    assert_eq!(root.contents("x"), Vec::<String>::new());
    assert_eq!(backend.destroy(&made.instance).await.unwrap(), Destroyed::AlreadyGone);
    assert!(is_gone(&backend, &made.instance).await);
    assert_eq!(backend.discover(&id("a")).await.unwrap(), None);
}

#[tokio::test]
async fn it_is_asked_first_and_given_time_to_end() {
    let root = Root::new();
    let note = root.path().parent().unwrap().join("note");
    let script =
        format!("trap 'echo asked > {}; exit 0' TERM; echo up; while :; do sleep 0.01; done", note.display());
    let backend = root.running(&script);
    let made = backend.create(&spec("a")).await.unwrap();
    until("it listens to signals", || has_said(&root, &made.instance, "up")).await;
    assert_eq!(backend.destroy(&made.instance).await.unwrap(), Destroyed::Destroyed);
    assert_eq!(fs::read_to_string(note).unwrap(), "asked\n");
}

#[tokio::test]
async fn one_that_does_not_listen_is_killed_when_patience_is_over() {
    let root = Root::new();
    let mut config = root.config().stop_patience(Duration::from_millis(200));
    config.command =
        ["sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.01; done"].map(str::to_owned).to_vec();
    let backend = ProcessBackend::new(config).unwrap();
    let made = backend.create(&spec("a")).await.unwrap();
    until("it ignores signals", || has_said(&root, &made.instance, "up")).await;
    let took = Deadline::after(Duration::from_secs(60));
    assert_eq!(backend.destroy(&made.instance).await.unwrap(), Destroyed::Destroyed);
    assert!(took.elapsed() >= Duration::from_millis(200), "it was not given its time");
    assert_eq!((root.processes(), root.contents("x")), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn what_it_started_goes_with_it_wherever_it_went() {
    let root = Root::new();
    let [grouped, apart, bare, child, homeless] = [1, 2, 3, 4, 5].map(seconds);
    // One in its group, one in a session of its own, one without the marker in the group, one that has neither the group nor
    // the marker but a parent who has, and one that has nothing but its place.
    let script = format!(
        "sleep {grouped} & setsid sleep {apart} & (cd /; exec env -i sleep {bare}) & \
         setsid sh -c '(cd /; exec env -i sleep {child}) & wait' & \
         setsid setsid --fork env -i sleep {homeless}; trap '' TERM; while :; do sleep 0.01; done"
    );
    let mut config = root.config().stop_patience(Duration::from_millis(100));
    config.command = ["sh", "-c", &script].map(str::to_owned).to_vec();
    let backend = ProcessBackend::new(config).unwrap();
    let made = backend.create(&spec("a")).await.unwrap();
    let sleepers = || [grouped, apart, bare, child, homeless].map(sleeper);
    until("all of them run", || sleepers().iter().all(Option::is_some)).await;
    let pids = sleepers().map(Option::unwrap);
    assert_eq!(backend.destroy(&made.instance).await.unwrap(), Destroyed::Destroyed);
    for pid in pids {
        assert!(!runs(pid), "{pid} is left");
    }
}

#[tokio::test]
async fn one_whose_leader_went_first_is_known_from_before() {
    let root = Root::new();
    let mut config = root.config().stop_patience(Duration::from_millis(200));
    let stubborn = seconds(6);
    let script = format!("(cd /; trap '' TERM; exec env -i sleep {stubborn}) & wait");
    config.command = ["sh", "-c", &script].map(str::to_owned).to_vec();
    let backend = ProcessBackend::new(config).unwrap();
    let made = backend.create(&spec("a")).await.unwrap();
    until("its child runs", || sleeper(stubborn).is_some()).await;
    let child = sleeper(stubborn).unwrap();
    assert_eq!(backend.destroy(&made.instance).await.unwrap(), Destroyed::Destroyed);
    assert!(!runs(child));
}

#[tokio::test]
async fn a_neighbour_is_left_alone() {
    let root = Root::new();
    let backend = root.backend();
    let (a, b) = (backend.create(&spec("a")).await.unwrap(), backend.create(&spec("a-b")).await.unwrap());
    backend.destroy(&a.instance).await.unwrap();
    assert_eq!(backend.list().await.unwrap().found, vec![b.clone()]);
    assert!(runs(root.pid_of(&b.instance)));
}

#[tokio::test]
async fn a_process_that_cannot_be_shown_to_be_its_own_is_not_touched_and_keeps_the_record() {
    let root = Root::new();
    let mut config = root.config().stop_patience(Duration::from_millis(50));
    config.kill_patience = Duration::from_millis(300);
    let stray = seconds(7);
    config.command =
        ["sh", "-c", &format!("(cd /; exec env -i sleep {stray}) & wait")].map(str::to_owned).to_vec();
    let backend = ProcessBackend::new(config).unwrap();
    let made = backend.create(&spec("a")).await.unwrap();
    until("its child runs", || sleeper(stray).is_some()).await;
    let (first, child) = (root.pid_of(&made.instance), sleeper(stray).unwrap());
    kill(first);
    until("the leader is gone", || !runs(first) && !std::path::Path::new(&format!("/proc/{first}")).exists())
        .await;
    let error = backend.destroy(&made.instance).await.unwrap_err();
    assert_eq!(error.kind(), BackendErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains(&child.to_string()), "{error}");
    assert!(runs(child));
    assert_eq!(present(&backend, &made.instance).await.instance, made.instance, "the record is kept");
    kill(child);
    until("it ended", || !runs(child)).await;
    assert_eq!(backend.destroy(&made.instance).await.unwrap(), Destroyed::Destroyed);
}

#[tokio::test]
async fn no_command_starts_in_one_whose_stop_has_begun() {
    let root = Root::new();
    let backend = root.running("trap '' TERM; while :; do sleep 0.01; done");
    let made = backend.create(&spec("a")).await.unwrap();
    let stopping = backend.destroy(&made.instance);
    let asking = async {
        until("the stop has begun", || root.read_record(&made.instance)["stopping"] == true).await;
        let error = backend.exec(&made.instance, Command::new("true")).await.map(drop).unwrap_err();
        assert_eq!(error.kind(), BackendErrorKind::Missing, "{error}");
        kill(root.pid_of(&made.instance));
    };
    let (stopped, ()) = tokio::join!(stopping, asking);
    assert_eq!(stopped.unwrap(), Destroyed::Destroyed);
}

#[tokio::test]
async fn a_stop_that_was_given_up_is_finished_by_the_next() {
    let root = Root::new();
    let backend = root.running("trap '' TERM; echo up; while :; do sleep 0.01; done");
    let made = backend.create(&spec("a")).await.unwrap();
    until("it ignores signals", || has_said(&root, &made.instance, "up")).await;
    let given_up = tokio::time::timeout(Duration::from_millis(100), backend.destroy(&made.instance)).await;
    assert!(given_up.is_err());
    assert!(runs(root.pid_of(&made.instance)), "its patience was not over");
    let quick = ProcessBackend::new(root.config().stop_patience(Duration::ZERO)).unwrap();
    assert_eq!(quick.destroy(&made.instance).await.unwrap(), Destroyed::Destroyed);
    assert_eq!((root.processes(), root.contents("x")), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn two_who_stop_it_at_once_both_succeed() {
    let root = Root::new();
    let (one, other) = (root.backend(), root.backend());
    let made = one.create(&spec("a")).await.unwrap();
    let (a, b) = tokio::join!(one.destroy(&made.instance), other.destroy(&made.instance));
    assert!(a.is_ok() && b.is_ok(), "{a:?} {b:?}");
    assert_eq!(root.contents("x"), Vec::<String>::new());
}

#[tokio::test]
async fn directories_that_it_locked_up_are_removed() {
    let root = Root::new();
    let backend = root.backend();
    let made = backend.create(&spec("a")).await.unwrap();
    let shut = root.of(&made.instance).join("work/shut");
    fs::create_dir_all(shut.join("inner")).unwrap();
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o000)).unwrap();
    assert_eq!(backend.destroy(&made.instance).await.unwrap(), Destroyed::Destroyed);
    assert_eq!(root.contents("x"), Vec::<String>::new());
}

/// A number of seconds that no other run of these tests sleeps for.
pub(crate) fn seconds(number: u32) -> u64 {
    1_000_000_000 + u64::from(std::process::id()) * 10 + u64::from(number)
}

/// The process `sleep <seconds>`.
pub(crate) fn sleeper(seconds: u64) -> Option<i32> {
    let wanted = format!("sleep\0{seconds}\0");
    let all = fs::read_dir("/proc").unwrap().flatten();
    let mut pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.find(|pid| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == wanted.as_bytes()))
}

fn has_said(root: &Root, instance: &leasehold::InstanceId, text: &str) -> bool {
    fs::read_to_string(root.of(instance).join("stdout")).is_ok_and(|said| said.contains(text))
}
