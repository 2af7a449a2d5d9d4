//! Commands in a sandbox: what they see and say, how they end, and that they end.

use std::fs;
use std::time::Duration;

use leasehold::{BackendErrorKind, Command, Destroyed, Execution, Exit, InstanceId, Output, SandboxBackend};
use leasehold_backends::process::ProcessBackend;

use crate::support::{PATIENCE, Root, finish, kill, runs, sh, spec, state, until};

async fn made(root: &Root) -> (ProcessBackend, InstanceId) {
    let backend = root.backend();
    let instance = backend.create(&spec("a")).await.unwrap().instance;
    (backend, instance)
}

/// A shell script as a command.
fn script(text: &str) -> Command {
    Command::new("sh").arg("-c").arg(text).timeout(PATIENCE)
}

/// The first line of the next thing it says, which is the number of a process.
async fn said_pid(running: &mut Box<dyn Execution>) -> i32 {
    match running.next().await.unwrap() {
        Output::Stdout(bytes) => {
            let line = bytes.split(|byte| *byte == b'\n').next().unwrap();
            std::str::from_utf8(line).unwrap().parse().unwrap()
        }
        other => panic!("{other:?} rather than a number"),
    }
}

/// Whether the program `name` of a sandbox is waiting for something.
fn sleeps(root: &Root, name: &str) -> bool {
    let named =
        |pid: &i32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name);
    root.processes().iter().find(|pid| named(pid)).is_some_and(|pid| state(*pid) == Some('S'))
}

#[tokio::test]
async fn both_streams_and_the_exit_code_are_told() {
    let root = Root::new();
    let (backend, instance) = made(&root).await;
    let said = sh(&backend, &instance, "echo out; echo err >&2; exit 3").await;
    assert_eq!(said, ("out\n".to_owned(), "err\n".to_owned(), Exit::Code(3)));
    let said = sh(&backend, &instance, "kill -9 $$").await;
    assert_eq!(said.2, Exit::Signal(9));
    assert_eq!(fs::read_dir(root.of(&instance).join("commands")).unwrap().count(), 0);
}

#[tokio::test]
async fn output_is_told_while_the_command_runs() {
    let root = Root::new();
    let (backend, instance) = made(&root).await;
    let mut running =
        backend.exec(&instance, script("echo first; while [ ! -e go ]; do sleep 0.01; done")).await.unwrap();
    assert_eq!(running.next().await.unwrap(), Output::Stdout(b"first\n".to_vec()));
    fs::write(root.of(&instance).join("work/go"), "").unwrap();
    assert_eq!(running.next().await.unwrap(), Output::Exited(Exit::Code(0)));
}

#[tokio::test]
async fn it_has_the_sandboxs_variables_and_its_own_and_starts_in_its_directory() {
    let root = Root::new();
    let backend = root.backend();
    let mut wanted = spec("a");
    wanted.environment.insert("A".to_owned(), "sandbox".to_owned());
    wanted.environment.insert("B".to_owned(), "sandbox".to_owned());
    let instance = backend.create(&wanted).await.unwrap().instance;
    fs::create_dir(root.of(&instance).join("work/inner")).unwrap();
    let command = script("echo $A $B $LEASEHOLD_INSTANCE; pwd").env("B", "mine").directory("inner");
    let (out, _, _) = finish(backend.exec(&instance, command).await.unwrap()).await;
    let inner = root.of(&instance).join("work/inner");
    assert_eq!(out, format!("sandbox mine {instance}\n{}\n", inner.display()));
    let (out, _, _) = finish(backend.exec(&instance, script("pwd").directory("/")).await.unwrap()).await;
    assert_eq!(out, "/\n");
    let (out, _, _) = finish(backend.exec(&instance, script("pwd").directory("/inner")).await.unwrap()).await;
    assert_eq!(out, format!("{}\n", inner.display()), "its own comes before the host's");
    let error = backend.exec(&instance, script("pwd").directory("nowhere")).await.map(drop).unwrap_err();
    assert!(error.kind() == BackendErrorKind::Invalid && error.to_string().contains("nowhere"), "{error}");
}

#[tokio::test]
async fn more_input_and_output_than_any_pipe_holds_goes_through_whole() {
    let root = Root::new();
    let (backend, instance) = made(&root).await;
    let input: Vec<u8> = (0..3_000_000_u32).map(|n| b'a' + (n % 23) as u8).collect();
    let (out, _, exit) =
        finish(backend.exec(&instance, script("cat").input(input.clone())).await.unwrap()).await;
    assert_eq!((out.into_bytes() == input, exit), (true, Exit::Code(0)));
    let deaf =
        finish(backend.exec(&instance, script("exec <&-; echo deaf").input(input)).await.unwrap()).await;
    assert_eq!(deaf, ("deaf\n".to_owned(), String::new(), Exit::Code(0)));
    let (out, _, _) = sh(&backend, &instance, "cat; echo none").await;
    assert_eq!(out, "none\n", "without input it reads nothing and does not wait");
}

#[tokio::test]
async fn output_that_nobody_reads_waits_within_a_bound_and_is_not_lost() {
    let root = Root::new();
    let mut config = root.config();
    config.output_buffer = 20_000;
    let backend = ProcessBackend::new(config).unwrap();
    let instance = backend.create(&spec("a")).await.unwrap().instance;
    let noisy = script("head -c 2000000 /dev/zero; touch done; echo over >&2");
    let running = backend.exec(&instance, noisy).await.unwrap();
    let done = root.of(&instance).join("work/done");
    // It fills the buffer and the pipe, which is far less than it has to say, and can't get on.
    let mut waits = 0;
    until("it waits for its reader", || {
        assert!(!done.exists(), "it said all although nobody reads");
        waits = if sleeps(&root, "head") { waits + 1 } else { 0 };
        waits == 50
    })
    .await;
    let (out, err, exit) = finish(running).await;
    assert_eq!((out.len(), err.as_str(), exit), (2_000_000, "over\n", Exit::Code(0)));
}

#[tokio::test]
async fn one_that_takes_too_long_is_killed_with_what_it_started() {
    let root = Root::new();
    let (backend, instance) = made(&root).await;
    let command = script("sleep 1000 & echo $!; wait").timeout(Duration::from_millis(300));
    let mut running = backend.exec(&instance, command).await.unwrap();
    let child = said_pid(&mut running).await;
    assert_eq!(finish(running).await.2, Exit::TimedOut);
    until("its child ended", || !runs(child)).await;
    assert!(runs(root.pid_of(&instance)), "the sandbox goes on");
}

#[tokio::test]
async fn one_that_nobody_reads_is_killed_in_time_all_the_same() {
    let root = Root::new();
    let (backend, instance) = made(&root).await;
    let command = script("echo $$; exec cat /dev/zero").timeout(Duration::from_millis(300));
    let mut running = backend.exec(&instance, command).await.unwrap();
    let pid = said_pid(&mut running).await;
    until("it ended", || !runs(pid)).await;
    loop {
        if let Output::Exited(exit) = running.next().await.unwrap() {
            assert_eq!(exit, Exit::TimedOut);
            break;
        }
    }
}

#[tokio::test]
async fn one_that_is_killed_says_so_and_killing_it_again_is_harmless() {
    let root = Root::new();
    let (backend, instance) = made(&root).await;
    let mut running = backend.exec(&instance, script("echo $$; exec sleep 1000")).await.unwrap();
    let pid = said_pid(&mut running).await;
    running.kill().await.unwrap();
    running.kill().await.unwrap();
    assert_eq!(running.next().await.unwrap(), Output::Exited(Exit::Killed));
    assert!(!runs(pid));
    running.kill().await.unwrap();
    let mut ended = backend.exec(&instance, script("exit 5")).await.unwrap();
    assert_eq!(ended.next().await.unwrap(), Output::Exited(Exit::Code(5)));
    ended.kill().await.unwrap();
    assert_eq!(ended.next().await.unwrap(), Output::Exited(Exit::Code(5)), "it had ended by itself");
}

#[tokio::test]
async fn one_that_is_dropped_is_killed() {
    let root = Root::new();
    let (backend, instance) = made(&root).await;
    let mut running =
        backend.exec(&instance, script("trap '' TERM; sleep 1000 & echo $!; wait")).await.unwrap();
    let child = said_pid(&mut running).await;
    drop(running);
    until("all of it ended", || root.processes() == vec![root.pid_of(&instance)]).await;
    until("its child ended", || !runs(child)).await;
}

#[tokio::test]
async fn a_future_that_is_dropped_loses_nothing_that_was_said() {
    let root = Root::new();
    let (backend, instance) = made(&root).await;
    let slow = script("for n in 1 2 3 4 5 6 7 8 9; do echo $n; sleep 0.01; done");
    let mut running = backend.exec(&instance, slow).await.unwrap();
    let mut said = Vec::new();
    loop {
        match tokio::time::timeout(Duration::from_millis(3), running.next()).await {
            Err(_) => {}
            Ok(Ok(Output::Stdout(bytes))) => said.extend(bytes),
            Ok(other) => {
                assert_eq!(other.unwrap(), Output::Exited(Exit::Code(0)));
                break;
            }
        }
    }
    assert_eq!(String::from_utf8(said).unwrap(), "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
}

#[tokio::test]
async fn destroying_the_sandbox_kills_its_commands_whoever_started_them() {
    let root = Root::new();
    let (backend, instance) = made(&root).await;
    let mut running = backend.exec(&instance, script("echo $$; exec sleep 1000")).await.unwrap();
    let marked = said_pid(&mut running).await;
    // One that shows no marker is known by what was written down of it.
    let command =
        Command::new("env").arg("-i").arg("sh").arg("-c").arg("echo $$; exec sleep 1000").timeout(PATIENCE);
    let mut bare = backend.exec(&instance, command).await.unwrap();
    let unmarked = said_pid(&mut bare).await;
    assert_eq!(root.backend().destroy(&instance).await.unwrap(), Destroyed::Destroyed);
    assert!(!runs(marked) && !runs(unmarked));
    assert_eq!(running.next().await.unwrap(), Output::Exited(Exit::Killed));
    assert_eq!(bare.next().await.unwrap(), Output::Exited(Exit::Killed));
    assert_eq!(root.contents("x"), Vec::<String>::new());
}

#[tokio::test]
async fn what_a_command_left_running_is_the_sandboxs_and_goes_with_it() {
    let root = Root::new();
    let (backend, instance) = made(&root).await;
    let (out, _, exit) = sh(&backend, &instance, "env -i sleep 1000 & echo $!").await;
    let pid: i32 = out.trim().parse().unwrap();
    assert!(exit == Exit::Code(0) && runs(pid), "its end is told although its output is still open");
    let (_, _, exit) = sh(&backend, &instance, "exit 4").await;
    assert_eq!(exit, Exit::Code(4));
    assert!(runs(pid), "another command does not change that");
    kill(pid);
    until("it ended", || !runs(pid)).await;
    let (out, _, _) = sh(&backend, &instance, "sleep 1000 & echo $!").await;
    let pid: i32 = out.trim().parse().unwrap();
    assert_eq!(backend.destroy(&instance).await.unwrap(), Destroyed::Destroyed);
    assert!(!runs(pid));
}

#[tokio::test]
async fn nothing_is_started_where_nothing_runs() {
    let root = Root::new();
    let (backend, instance) = made(&root).await;
    let error = backend.exec(&instance, Command::new("no-such-program")).await.map(drop).unwrap_err();
    assert_eq!(error.kind(), BackendErrorKind::Invalid, "{error}");
    let pid = root.pid_of(&instance);
    kill(pid);
    until("it ended", || !runs(pid)).await;
    let error = backend.exec(&instance, Command::new("true")).await.map(drop).unwrap_err();
    assert_eq!(error.kind(), BackendErrorKind::Missing, "{error}");
    backend.destroy(&instance).await.unwrap();
    let error = backend.exec(&instance, Command::new("true")).await.map(drop).unwrap_err();
    assert_eq!((error.kind(), error.instance()), (BackendErrorKind::Missing, Some(&instance)), "{error}");
}

#[tokio::test]
async fn no_more_commands_run_at_once_than_the_config_says() {
    let root = Root::new();
    let mut config = root.config();
    config.max_commands = 2;
    let backend = ProcessBackend::new(config).unwrap();
    let instance = backend.create(&spec("a")).await.unwrap().instance;
    let mut first = backend.exec(&instance, script("sleep 1000")).await.unwrap();
    let _second = backend.exec(&instance, script("sleep 1000")).await.unwrap();
    let error = backend.exec(&instance, script("true")).await.map(drop).unwrap_err();
    assert_eq!(error.kind(), BackendErrorKind::Full, "{error}");
    first.kill().await.unwrap();
    assert_eq!(first.next().await.unwrap(), Output::Exited(Exit::Killed));
    assert_eq!(sh(&backend, &instance, "true").await.2, Exit::Code(0));
}
