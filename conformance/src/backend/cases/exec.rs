use std::time::Duration;

use leasehold::{BackendErrorKind, Command, Execution, Exit, InstanceId, Mount, Output};

use super::super::{BackendKit, Handle};
use super::create::refused;
use crate::case::{Check, Stop, must};

pub(super) async fn both_streams_and_the_code_are_told(kit: &BackendKit) -> Check {
    let (handle, made) = kit.ready("a").await?;
    let command = kit.script("echo out; echo err >&2; exit 3")?;
    let mut running = handle.exec(&made.instance, command).await??;
    let said = kit.finish(&mut running).await?;
    let told = said == (b"out\n".to_vec(), b"err\n".to_vec(), Exit::Code(3));
    must(told, "out, err and code 3", &said)?;
    for _ in 0..2 {
        let again = kit.said(&mut running).await?;
        must(again == Output::Exited(Exit::Code(3)), "its end, told again", &again)?;
    }
    let (_, _, exit) = kit.run(&handle, &made.instance, "exit 0").await?;
    must(exit == Exit::Code(0), "code 0", exit)
}

pub(super) async fn a_signal_is_no_success(kit: &BackendKit) -> Check {
    let (handle, made) = kit.ready("a").await?;
    let (_, _, exit) = kit.run(&handle, &made.instance, "kill -9 $$").await?;
    must(matches!(exit, Exit::Signal(9) | Exit::Code(137)), "signal 9, or code 137", exit)
}

pub(super) async fn it_reads_its_input_to_the_end(kit: &BackendKit) -> Check {
    let (handle, made) = kit.ready("a").await?;
    let input: Vec<u8> = (0..300_000_u32).map(|n| b'a' + (n % 23) as u8).collect();
    let command = kit.script("cat; echo over")?.input(input.clone());
    let mut running = handle.exec(&made.instance, command).await??;
    let (out, _, exit) = kit.finish(&mut running).await?;
    let whole = exit == Exit::Code(0) && out.strip_suffix(b"over\n") == Some(&input[..]);
    must(whole, "all of its input, and then its end", (out.len(), exit))?;
    let (out, _, _) = kit.run(&handle, &made.instance, "cat; echo none").await?;
    must(out == b"none\n", "no input, which ends at once", String::from_utf8_lossy(&out))
}

pub(super) async fn it_has_its_variables(kit: &BackendKit) -> Check {
    let handle = kit.open()?;
    let mut spec = kit.spec("a");
    for name in ["KIT_A", "KIT_B"] {
        spec.environment.insert(name.to_owned(), "sandbox".to_owned());
    }
    let made = handle.create(&spec).await??;
    let _ = handle.wait_ready(&made.instance).await??;
    let command = kit.script("echo $KIT_A $KIT_B $KIT_C")?.env("KIT_B", "mine").env("KIT_C", "too");
    let mut running = handle.exec(&made.instance, command).await??;
    let (out, _, _) = kit.finish(&mut running).await?;
    must(out == b"sandbox mine too\n", "sandbox mine too", String::from_utf8_lossy(&out))
}

pub(super) async fn output_is_told_while_it_runs(kit: &BackendKit) -> Check {
    let (handle, made) = kit.ready("a").await?;
    let command = kit.script("echo first; exec sleep 600")?;
    let mut running = handle.exec(&made.instance, command).await??;
    let said = kit.said(&mut running).await?;
    must(said == Output::Stdout(b"first\n".to_vec()), "first, while it sleeps", &said)?;
    handle.within("kill", running.kill()).await??;
    Ok(())
}

pub(super) async fn more_than_a_pipe_holds_comes_whole(kit: &BackendKit) -> Check {
    const MUCH: usize = 3_000_000;
    let (handle, made) = kit.ready("a").await?;
    let script = format!("head -c {MUCH} /dev/zero; echo over >&2");
    let (out, err, exit) = kit.run(&handle, &made.instance, &script).await?;
    let whole = out.len() == MUCH && out.iter().all(|byte| *byte == 0);
    must(whole, "three million zeros", (out.len(), exit))?;
    must((err.as_slice(), exit) == (b"over\n", Exit::Code(0)), "over, and code 0", (err, exit))
}

pub(super) async fn output_nobody_reads_waits(kit: &BackendKit) -> Check {
    const LOOKS: usize = 10;
    let (handle, made) = kit.ready("a").await?;
    let command = kit.script("head -c 67108864 /dev/zero; echo over > kit-done")?;
    let mut running = handle.exec(&made.instance, command).await??;
    for _ in 0..LOOKS {
        kit.pause(Duration::from_millis(50)).await;
        let (_, _, exit) = kit.run(&handle, &made.instance, "test -e kit-done").await?;
        must(exit == Exit::Code(1), "it waits with 64 MiB to say that nobody reads", exit)?;
    }
    handle.within("kill", running.kill()).await??;
    Ok(())
}

pub(super) async fn a_dropped_wait_loses_nothing(kit: &BackendKit) -> Check {
    let (handle, made) = kit.ready("a").await?;
    let words: Vec<String> = (1..10).map(|n| format!("echo {n}; sleep 0.02")).collect();
    let mut running = handle.exec(&made.instance, kit.script(&words.join("; "))?).await??;
    let deadline = leasehold::Deadline::after(kit.abilities().patience);
    let mut out = Vec::new();
    loop {
        must(!deadline.passed(), "an end", String::from_utf8_lossy(&out))?;
        match tokio::time::timeout(Duration::from_millis(5), running.next()).await {
            Err(_) => {}
            Ok(Ok(Output::Stdout(bytes))) => out.extend(bytes),
            Ok(Ok(Output::Exited(Exit::Code(0)))) => break,
            Ok(other) => return Err(Stop::failed("numbers, and code 0", other)),
        }
    }
    must(out == b"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "all nine numbers", String::from_utf8_lossy(&out))
}

/// Starts a command that sleeps, and reads the number of its process as it is in the sandbox.
async fn sleeping(
    kit: &BackendKit,
    handle: &Handle,
    instance: &InstanceId,
    timeout: Option<Duration>,
) -> Result<(Box<dyn Execution>, u32), Stop> {
    let mut command = kit.script("echo $$; exec sleep 600")?;
    if let Some(timeout) = timeout {
        command = command.timeout(timeout);
    }
    let mut running = handle.exec(instance, command).await??;
    match kit.said(&mut running).await? {
        Output::Stdout(bytes) => match String::from_utf8_lossy(&bytes).trim().parse() {
            Ok(pid) => Ok((running, pid)),
            Err(_) => Err(Stop::failed("the number of its process", bytes)),
        },
        other => Err(Stop::failed("the number of its process", other)),
    }
}

/// Fails the case unless the process soon runs no more.
async fn runs_no_more(kit: &BackendKit, handle: &Handle, instance: &InstanceId, pid: u32) -> Check {
    let script = &format!("kill -0 {pid}");
    let look = || async { Ok(kit.run(handle, instance, script).await?.2 != Exit::Code(0)) };
    kit.until("its process does not run on", look).await
}

pub(super) async fn one_over_its_time_is_killed(kit: &BackendKit) -> Check {
    let (handle, made) = kit.ready("a").await?;
    let time = Duration::from_secs(1);
    let (mut running, pid) = sleeping(kit, &handle, &made.instance, Some(time)).await?;
    let (_, _, exit) = kit.finish(&mut running).await?;
    must(exit == Exit::TimedOut, "TimedOut", exit)?;
    runs_no_more(kit, &handle, &made.instance, pid).await
}

pub(super) async fn a_killed_one_says_so(kit: &BackendKit) -> Check {
    let (handle, made) = kit.ready("a").await?;
    let (mut running, pid) = sleeping(kit, &handle, &made.instance, None).await?;
    for _ in 0..2 {
        handle.within("kill", running.kill()).await??;
    }
    let (_, _, exit) = kit.finish(&mut running).await?;
    must(exit == Exit::Killed, "Killed", exit)?;
    runs_no_more(kit, &handle, &made.instance, pid).await?;
    let mut ended = handle.exec(&made.instance, kit.script("exit 5")?).await??;
    let (_, _, exit) = kit.finish(&mut ended).await?;
    must(exit == Exit::Code(5), "code 5", exit)?;
    handle.within("kill", ended.kill()).await??;
    let again = kit.said(&mut ended).await?;
    must(again == Output::Exited(Exit::Code(5)), "code 5 still, since it had ended by itself", &again)
}

pub(super) async fn a_dropped_one_is_killed(kit: &BackendKit) -> Check {
    let (handle, made) = kit.ready("a").await?;
    let (running, pid) = sleeping(kit, &handle, &made.instance, None).await?;
    let (_, _, exit) = kit.run(&handle, &made.instance, &format!("kill -0 {pid}")).await?;
    must(exit == Exit::Code(0), "its process runs while somebody looks after it", exit)?;
    drop(running);
    runs_no_more(kit, &handle, &made.instance, pid).await
}

pub(super) async fn it_ends_with_its_sandbox(kit: &BackendKit) -> Check {
    let (handle, made) = kit.ready("a").await?;
    let (mut running, _) = sleeping(kit, &handle, &made.instance, None).await?;
    let _ = kit.open()?.destroy(&made.instance).await??;
    let patience = kit.abilities().patience;
    // What it had said and nobody read may come first.
    for _ in 0..2 {
        match tokio::time::timeout(patience, running.next()).await {
            Ok(Ok(Output::Stdout(_) | Output::Stderr(_))) => {}
            Ok(Ok(Output::Exited(Exit::Killed | Exit::Signal(_)))) | Ok(Err(_)) => return Ok(()),
            Ok(Ok(Output::Exited(Exit::Code(code)))) if code != 0 => return Ok(()),
            Ok(Ok(other)) => return Err(Stop::failed("Killed, or an error", other)),
            Err(_) => return Err(Stop::failed(format!("its end within {patience:?}"), "nothing")),
        }
    }
    Err(Stop::failed("its end", "output of a command that is killed"))
}

pub(super) async fn of_a_program_that_is_not_there_is_no_success(kit: &BackendKit) -> Check {
    let (handle, made) = kit.ready("a").await?;
    let Ok(mut running) = handle.exec(&made.instance, Command::new("kit-no-such-program")).await? else {
        return Ok(());
    };
    loop {
        match handle.within("next", running.next()).await? {
            Ok(Output::Exited(exit)) => return must(exit != Exit::Code(0), "a code other than 0", exit),
            Ok(_) => {}
            Err(_) => return Ok(()),
        }
    }
}

pub(super) async fn in_a_gone_one_is_missing(kit: &BackendKit) -> Check {
    let (handle, made) = kit.made("a").await?;
    let _ = handle.destroy(&made.instance).await??;
    let started = handle.exec(&made.instance, Command::new("true")).await?;
    refused(started.map(|_| "a command was started"), BackendErrorKind::Missing)
}

pub(super) async fn a_mounted_directory_is_seen(kit: &BackendKit) -> Check {
    let handle = kit.open()?;
    let none = || Stop::not_applicable("no directory is offered");
    let source = kit.site().shared_directory().ok_or_else(none)?;
    let broken = |e: std::io::Error| Stop::Harness(format!("the shared directory can't be used: {e}"));
    std::fs::write(source.join("note"), "from outside\n").map_err(broken)?;
    let mut spec = kit.spec("a");
    spec.mounts.push(Mount { source: source.clone(), target: "/kit-mount".into(), writable: true });
    let made = handle.create(&spec).await??;
    let _ = handle.wait_ready(&made.instance).await??;
    let command = kit.script("cat note; echo inside > made")?.directory("/kit-mount");
    let mut running = handle.exec(&made.instance, command).await??;
    let (out, err, exit) = kit.finish(&mut running).await?;
    let seen = (out.as_slice(), exit) == (b"from outside\n", Exit::Code(0));
    must(
        seen,
        "what is in the directory",
        (String::from_utf8_lossy(&out), String::from_utf8_lossy(&err), exit),
    )?;
    let written = std::fs::read_to_string(source.join("made"));
    must(matches!(written.as_deref(), Ok("inside\n")), "what was written inside", &written)
}
