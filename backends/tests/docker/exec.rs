//! Commands in a container.

use std::time::Duration;

use leasehold::{BackendErrorKind, Command, Exit, InstanceId, Output, SandboxBackend};
use leasehold_backends::docker::DockerBackend;

use crate::support::{PATIENCE, finish, run, with_yard};

/// How many processes of that name the sandbox has.
async fn count(backend: &DockerBackend, instance: &InstanceId, what: &str) -> usize {
    let (_, out, _) = run(backend, instance, "ps").await;
    out.lines().filter(|line| line.contains(what) && !line.contains("{ps}")).count()
}

async fn until_none(backend: &DockerBackend, instance: &InstanceId, what: &str) {
    let gone = async { while count(backend, instance, what).await > 0 {} };
    tokio::time::timeout(PATIENCE, gone).await.unwrap_or_else(|_| panic!("{what} still runs"));
}

#[tokio::test]
async fn output_codes_input_variables_and_directories() {
    with_yard(|yard| async move {
        let mut spec = yard.spec("a");
        spec.environment.insert("OF_SPEC".into(), "1".into());
        let backend = yard.running("sleep 1000");
        let made = backend.create(&spec).await.unwrap();
        let at = &made.instance;
        let out = |text: &str| (Exit::Code(0), text.to_owned(), String::new());
        assert_eq!(run(&backend, at, "echo out").await, out("out\n"));
        assert_eq!(
            run(&backend, at, "echo err >&2; exit 7").await,
            (Exit::Code(7), String::new(), "err\n".into())
        );
        assert_eq!(run(&backend, at, "echo $OF_SPEC").await, out("1\n"));
        let pwd = Command::new("sh").arg("-c").arg("echo $PWD $OWN").directory("/work").env("OWN", "2");
        assert_eq!(finish(&backend, at, pwd).await, out("/work 2\n"));
        let many = "x".repeat(1_000_000);
        let (exit, back, _) = finish(&backend, at, Command::new("cat").input(many.clone())).await;
        assert!(exit == Exit::Code(0) && back == many, "{exit:?}, {} bytes", back.len());
        // Words are passed as they are.
        let words = Command::new("echo").arg("a  b").arg("$HOME").arg("'\"\\");
        assert_eq!(finish(&backend, at, words).await, out("a  b $HOME '\"\\\n"));
        // One that ends by a signal says so as containers do.
        assert_eq!(run(&backend, at, "kill -15 $$").await.0, Exit::Code(143));
        backend.destroy(at).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn one_that_can_not_begin_is_an_error() {
    with_yard(|yard| async move {
        let backend = yard.running("sleep 1000");
        let made = backend.create(&yard.spec("a")).await.unwrap();
        let refused = |command| async {
            let Err(error) = backend.exec(&made.instance, command).await else { panic!("it was started") };
            assert_eq!(error.kind(), BackendErrorKind::Invalid, "{error}");
            error.to_string()
        };
        assert!(refused(Command::new("no-such-program")).await.contains("no-such-program"));
        refused(Command::new("")).await;
        refused(Command::new("true").directory("/no/such/directory")).await;
        let refused = refused(Command::new("true").env("A", "hunter2\0")).await;
        assert!(!refused.contains("hunter2"), "{refused}");
        backend.destroy(&made.instance).await.unwrap();
        let gone = backend.exec(&made.instance, Command::new("true")).await.err().unwrap();
        assert_eq!(gone.kind(), BackendErrorKind::Missing, "{gone}");
    })
    .await;
}

#[tokio::test]
async fn a_command_ends_with_all_it_started_by_time_by_kill_and_by_drop() {
    with_yard(|yard| async move {
        let backend = yard.running("sleep 1000");
        let made = backend.create(&yard.spec("a")).await.unwrap();
        let at = &made.instance;
        let two = |time| Command::new("sh").arg("-c").arg("sleep 777 & sleep 777; true").timeout(time);
        let (exit, ..) = finish(&backend, at, two(Duration::from_millis(300))).await;
        assert_eq!(exit, Exit::TimedOut);
        until_none(&backend, at, "sleep 777").await;

        let mut running = backend.exec(at, two(PATIENCE)).await.unwrap();
        running.kill().await.unwrap();
        assert_eq!(running.next().await.unwrap(), Output::Exited(Exit::Killed));
        assert_eq!(running.next().await.unwrap(), Output::Exited(Exit::Killed));
        running.kill().await.unwrap();
        until_none(&backend, at, "sleep 777").await;

        drop(backend.exec(at, two(PATIENCE)).await.unwrap());
        until_none(&backend, at, "sleep 777").await;
        backend.destroy(at).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn one_whose_child_keeps_its_output_open_ends_all_the_same() {
    with_yard(|yard| async move {
        let backend = yard.running("sleep 1000");
        let made = backend.create(&yard.spec("a")).await.unwrap();
        let (exit, out, _) = run(&backend, &made.instance, "sleep 777 & echo said").await;
        assert_eq!((exit, out.as_str()), (Exit::Code(0), "said\n"));
        backend.destroy(&made.instance).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn output_that_nobody_reads_waits_and_its_time_counts() {
    with_yard(|yard| async move {
        let backend = yard.running("sleep 1000");
        let made = backend.create(&yard.spec("a")).await.unwrap();
        let endless = Command::new("yes").timeout(Duration::from_millis(500));
        let mut running = backend.exec(&made.instance, endless).await.unwrap();
        // Nobody reads, and it is killed in time.
        until_none(&backend, &made.instance, "yes").await;
        let mut bytes = 0;
        let exit = loop {
            match running.next().await.unwrap() {
                Output::Stdout(piece) | Output::Stderr(piece) => bytes += piece.len(),
                Output::Exited(exit) => break exit,
            }
        };
        assert_eq!(exit, Exit::TimedOut);
        assert!((1..4 << 20).contains(&bytes), "{bytes}");
        backend.destroy(&made.instance).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn when_its_sandbox_is_stopped_a_command_was_killed() {
    with_yard(|yard| async move {
        let backend = yard.running("sleep 1000");
        let made = backend.create(&yard.spec("a")).await.unwrap();
        let sleep = Command::new("sleep").arg("777").timeout(PATIENCE);
        let mut running = backend.exec(&made.instance, sleep).await.unwrap();
        backend.destroy(&made.instance).await.unwrap();
        assert_eq!(running.next().await.unwrap(), Output::Exited(Exit::Killed));
    })
    .await;
}

#[tokio::test]
async fn only_so_many_at_once() {
    with_yard(|yard| async move {
        let backend = yard.with(|config| {
            (config.max_commands, config.port, config.ready) = (1, None, Default::default());
        });
        let made = backend.create(&yard.spec("a")).await.unwrap();
        let sleep = || Command::new("sleep").arg("777").timeout(PATIENCE);
        let mut first = backend.exec(&made.instance, sleep()).await.unwrap();
        let error = backend.exec(&made.instance, sleep()).await.err().unwrap();
        assert_eq!(error.kind(), BackendErrorKind::Full, "{error}");
        first.kill().await.unwrap();
        assert_eq!(first.next().await.unwrap(), Output::Exited(Exit::Killed));
        // Its place is given back when its task has ended.
        while backend.exec(&made.instance, Command::new("true")).await.is_err() {}
        backend.destroy(&made.instance).await.unwrap();
    })
    .await;
}
