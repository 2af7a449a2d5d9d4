//! A gateway is killed between any two steps of what it does, and nothing is left that can't be found and destroyed.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use leasehold::{
    BackendErrorKind, Condition, Destroyed, Exit, InstanceId, SandboxBackend, SandboxInfo, Seen,
};
use leasehold_backends::process::ProcessBackend;
use rustix::process::{Pid, Signal, getpid, kill_process};

use crate::support::{
    PATIENCE, Root, config, has_ended, id, is_taken, kill, present, runs, sh, spec, state, until,
};

/// What a child of this test program is to do: `<kill|wait> <step> <create|bare|destroy|script=…> <root>`.
const TASK: &str = "LEASEHOLD_PROCESS_TASK";

/// Not a test by itself: a gateway that creates a sandbox (and destroys it) and dies, or waits for a line of input, after a step.
#[tokio::test]
async fn gateway() {
    let Ok(task) = std::env::var(TASK) else { return };
    let mut words = task.splitn(4, ' ');
    let mut word = || words.next().unwrap().to_owned();
    let (how, step, doing, root) = (word(), word(), word(), word());
    let mut config = config(root.as_ref(), "x");
    if doing == "bare" {
        // A program without a single variable, as one is for a moment while it is being started.
        config.command = ["env", "-i", "sleep", "1000"].map(str::to_owned).to_vec();
    }
    if let Some(script) = doing.strip_prefix("script=") {
        config.command = ["sh".to_owned(), "-c".to_owned(), script.replace('_', " ")].to_vec();
    }
    config.after_step = Some(Arc::new(move |done: &str| {
        if done == step {
            println!("at {step}");
            match how.as_str() {
                "kill" => kill_process(getpid(), Signal::KILL).unwrap(),
                _ => drop(std::io::stdin().read_line(&mut String::new()).unwrap()),
            }
        }
    }));
    let backend = ProcessBackend::new(config).unwrap();
    let made = backend.create(&spec("a")).await.unwrap();
    println!("made {}", made.instance);
    if doing == "destroy" {
        backend.destroy(&made.instance).await.unwrap();
    }
    // The parent holds the other end of the input, and lets go of it to end this one.
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

pub(crate) fn gateway_that(how: &str, step: &str, doing: &str, root: &Root) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["crash::gateway", "--exact", "--nocapture", "--test-threads=1"])
        .env(TASK, format!("{how} {step} {doing} {}", root.path().display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The instance that a gateway says it made.
pub(crate) fn made_by(gateway: &mut Child) -> InstanceId {
    InstanceId::new(said_by(gateway, "made "))
}

/// What a gateway says after `before`.
fn said_by(gateway: &mut Child, before: &str) -> String {
    let lines = BufReader::new(gateway.stdout.as_mut().unwrap()).lines().map_while(Result::ok);
    let said = lines.filter_map(|line| Some(line.split_once(before)?.1.to_owned())).next();
    said.expect("the gateway says it")
}

/// Kills a gateway after this step.
fn crash_after(step: &str, doing: &str, root: &Root) {
    let status = gateway_that("kill", step, doing, root).wait().unwrap();
    assert_eq!(status.signal(), Some(9), "it was killed after {step}, rather than {status}");
}

async fn only(backend: &ProcessBackend) -> SandboxInfo {
    let listing = backend.list().await.unwrap();
    assert_eq!((listing.found.len(), listing.unreadable.len()), (1, 0), "{listing:?}");
    let named = backend.discover(&id("a")).await.unwrap().unwrap();
    assert_eq!(named.instance, listing.found[0].instance);
    named
}

async fn destroyed_without_trace(root: &Root, backend: &ProcessBackend, instance: &InstanceId) {
    assert_eq!(backend.destroy(instance).await.unwrap(), Destroyed::Destroyed);
    assert_eq!((root.processes(), root.contents("x")), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn a_creator_killed_before_it_recorded_anything_leaves_nothing_that_counts() {
    let root = Root::new();
    crash_after("locked", "create", &root);
    let backend = root.backend();
    assert_eq!(backend.list().await.unwrap(), leasehold::BackendListing::default());
    assert_eq!(backend.discover(&id("a")).await.unwrap(), None);
    let other = backend.create(&spec("b")).await.unwrap();
    destroyed_without_trace(&root, &backend, &other.instance).await;
}

#[tokio::test]
async fn a_creator_killed_before_it_started_anything_leaves_what_has_ended() {
    for step in ["recorded", "furnished"] {
        let root = Root::new();
        crash_after(step, "create", &root);
        let backend = root.backend();
        let found = only(&backend).await;
        assert!(has_ended(&found), "after {step}: {found:?}");
        assert_eq!(found.identity, spec("a").identity);
        destroyed_without_trace(&root, &backend, &found.instance).await;
        crash_after(step, "create", &root);
        let made = backend.create(&spec("a")).await.unwrap();
        assert_eq!(only(&backend).await, made, "its name is used again");
    }
}

#[tokio::test]
async fn a_creator_killed_before_it_wrote_down_which_process_it_started_leaves_one_that_is_found() {
    for step in ["started", "written"] {
        let root = Root::new();
        crash_after(step, "create", &root);
        let backend = root.backend();
        let found = only(&backend).await;
        assert_eq!((&found.condition, root.processes().len()), (&Condition::Running, 1), "after {step}");
        assert_eq!((&found.identity, &found.creator), (&spec("a").identity, &spec("a").creator));
        assert!(is_taken(&backend, "a").await);
        assert_eq!(backend.wait_ready(&found.instance, Duration::ZERO).await.unwrap(), found);
        assert_eq!(sh(&backend, &found.instance, "exit 7").await.2, Exit::Code(7));
        backend.condemn(&found.instance).await.unwrap();
        assert_eq!(present(&backend, &found.instance).await.condition, Condition::Running);
        destroyed_without_trace(&root, &backend, &found.instance).await;
    }
}

#[tokio::test]
async fn an_orphan_that_shows_no_variables_is_found_by_where_it_works() {
    let root = Root::new();
    crash_after("started", "bare", &root);
    let bare = || {
        root.processes()
            .into_iter()
            .all(|pid| std::fs::read(format!("/proc/{pid}/environ")).unwrap().is_empty())
    };
    until("it shows none", bare).await;
    let backend = root.backend();
    let found = only(&backend).await;
    assert_eq!((&found.condition, root.processes().len()), (&Condition::Running, 1));
    assert!(is_taken(&backend, "a").await);
    destroyed_without_trace(&root, &backend, &found.instance).await;
}

#[tokio::test]
async fn a_look_that_meets_another_looks_again() {
    let root = Root::new();
    crash_after("started", "create", &root);
    let mut config = root.config();
    config.look_patience = PATIENCE;
    let backend = ProcessBackend::new(config).unwrap();
    let instance = only(&backend).await.instance;
    let directory = std::fs::File::open(root.record_of(&instance).parent().unwrap()).unwrap();
    until("nobody has the lock", || fs2::FileExt::try_lock_exclusive(&directory).is_ok()).await;
    let look = tokio::spawn(async move { backend.inspect(&instance).await });
    // It has met the lock by then; if it has not, nothing is shown and nothing is wrong.
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop(directory);
    let Seen::Present(seen) = look.await.unwrap().unwrap() else { panic!("it is gone") };
    assert_eq!(seen.condition, Condition::Running);
}

#[tokio::test]
async fn a_leader_that_nobody_has_reaped_yet_still_keeps_its_group() {
    let root = Root::new();
    let stray = crate::stop::seconds(8);
    let script = format!("script=cd_/;env_-i_sleep_{stray}&wait");
    let mut gateway = gateway_that("kill", "never", &script, &root);
    let instance = made_by(&mut gateway);
    until("its child runs", || crate::stop::sleeper(stray).is_some()).await;
    let (first, child) = (root.pid_of(&instance), crate::stop::sleeper(stray).unwrap());
    let parent = i32::try_from(gateway.id()).unwrap();
    kill_process(Pid::from_raw(parent).unwrap(), Signal::STOP).unwrap();
    until("its parent is stopped", || state(parent) == Some('T')).await;
    kill(first);
    until("it is a zombie", || state(first) == Some('Z')).await;
    let backend = root.backend();
    assert!(has_ended(&present(&backend, &instance).await));
    let destroyed = backend.destroy(&instance).await;
    gateway.kill().unwrap();
    gateway.wait().unwrap();
    assert_eq!(destroyed.unwrap(), Destroyed::Destroyed);
    assert!(!runs(child));
}

#[tokio::test]
async fn a_sandbox_outlives_the_gateway_that_made_it() {
    let root = Root::new();
    let mut gateway = gateway_that("kill", "never", "create", &root);
    let instance = made_by(&mut gateway);
    let pid = root.pid_of(&instance);
    gateway.kill().unwrap();
    gateway.wait().unwrap();
    assert!(runs(pid));
    let backend = root.backend();
    assert_eq!(only(&backend).await.condition, Condition::Running);
    let (out, _, _) = sh(&backend, &instance, "echo still here").await;
    assert_eq!(out, "still here\n");
    destroyed_without_trace(&root, &backend, &instance).await;
}

#[tokio::test]
async fn a_stop_whose_gateway_was_killed_is_finished_by_another() {
    for step in ["stopping", "asked", "emptied"] {
        let root = Root::new();
        crash_after(step, "destroy", &root);
        let backend = root.backend();
        let found = only(&backend).await;
        destroyed_without_trace(&root, &backend, &found.instance).await;
    }
}

#[tokio::test]
async fn one_that_is_being_started_is_neither_running_nor_gone_and_holds_its_name() {
    let root = Root::new();
    for step in ["recorded", "started"] {
        let mut gateway = gateway_that("wait", step, "create", &root);
        assert_eq!(said_by(&mut gateway, "at "), step);
        let mut config = root.config();
        config.lock_patience = Duration::from_millis(300);
        let backend = ProcessBackend::new(config).unwrap();
        let found = only(&backend).await;
        assert!(matches!(found.condition, Condition::Stopped(_)), "after {step}: {found:?}");
        assert!(is_taken(&backend, "a").await);
        let error = backend.destroy(&found.instance).await.unwrap_err();
        assert_eq!(error.kind(), BackendErrorKind::Unavailable, "{error}");
        let error = backend.wait_ready(&found.instance, Duration::from_millis(50)).await.unwrap_err();
        assert_eq!(error.kind(), BackendErrorKind::NotReady, "{error}");
        backend.create(&spec("b")).await.expect("others are not in its way");
        gateway.stdin.as_mut().unwrap().write_all(b"go on\n").unwrap();
        let ready = root.backend().wait_ready(&found.instance, PATIENCE).await.unwrap();
        assert_eq!(ready.condition, Condition::Running);
        assert_eq!(made_by(&mut gateway), found.instance);
        drop(gateway.stdin.take());
        assert!(gateway.wait().unwrap().success());
        for info in backend.list().await.unwrap().found {
            backend.destroy(&info.instance).await.unwrap();
        }
    }
}
