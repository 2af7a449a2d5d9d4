//! How a sandbox comes to be, so that a creator may die between any two steps.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Child, Command, Stdio};

use leasehold::{BackendError, BackendErrorKind, Condition, Endpoint, Mount, SandboxInfo, SandboxSpec};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

use super::config::ReadyCheck;
use super::engine::{Engine, Step};
use super::error::failed;
use super::files;
use super::life::Life;
use super::lock::{IdLock, Locking};
use super::members::Members;
use super::name::{self, InstanceName};
use super::place::Kept;
use super::proc;
use super::record::{ProcessId, Record};
use crate::environment::check_environment;

/// The variable that every process of an instance is started with; its value is the instance.
pub(super) const MARKER: &str = "LEASEHOLD_INSTANCE";
/// The same for the first process alone.
const FIRST: &str = "LEASEHOLD_FIRST";
/// Where the sandbox runs.
pub(super) const WORK: &str = "work";
/// What it said.
pub(super) const STDOUT: &str = "stdout";
pub(super) const STDERR: &str = "stderr";
/// Its variables.
const ENVIRONMENT: &str = "environment";
/// The leaders of the groups that commands were started as.
pub(super) const COMMANDS: &str = "commands";

/// What every process of the instance was started with.
pub(super) fn marker(instance: &InstanceName) -> String {
    format!("{MARKER}={}", instance.id())
}

/// What the first process of the instance was started with.
pub(super) fn first_marker(instance: &InstanceName) -> String {
    format!("{FIRST}={}", instance.id())
}

/// Makes and starts a sandbox, all of it under the lock of its id.
///
/// The record is written before anything else is made, and says which process it is only after that was started. A creator
/// that dies in between leaves a record without a process: whoever gets the lock then finds the process by the marker in
/// its environment, or knows that there is none.
pub(super) fn create(engine: &Engine, spec: &SandboxSpec) -> Result<Step<SandboxInfo>, BackendError> {
    check(engine, spec)?;
    engine.place.enter()?;
    engine.sweep_once();
    let lock = match engine.place.lock(&name::directory(&spec.id), true)? {
        Locking::Locked(lock) => lock,
        Locking::Busy | Locking::Absent => return Ok(Step::Busy),
    };
    engine.after_step("locked");
    make_way(engine, &lock, spec)?;
    let instance = InstanceName::new(engine.place.namespace(), &spec.id)?;
    let endpoint = match engine.config.ready {
        ReadyCheck::Port => Some(free_port()?),
        ReadyCheck::Started | ReadyCheck::File(_) => None,
    };
    let record = Record {
        id: spec.id.clone(),
        name: instance,
        identity: spec.identity.clone(),
        creator: spec.creator.clone(),
        created: engine.host.wall(),
        endpoint,
        birthplace: engine.host.here.clone(),
        process: None,
        stopping: false,
    };
    let mut kept = Kept { record, condemned: false };
    engine.place.write(&lock, &kept)?;
    engine.after_step("recorded");
    match furnish_and_start(engine, &lock, &mut kept, spec) {
        Ok(()) => Ok(Step::Done(kept.record.info(false, Condition::Running))),
        Err(error) => {
            // It was not made, and nothing of it stays. What can't be removed is found as something that has ended.
            if engine.remove(&lock, &kept).is_ok() {
                lock.finish();
            }
            Err(error)
        }
    }
}

fn check(engine: &Engine, spec: &SandboxSpec) -> Result<(), BackendError> {
    let refuse = |why: String| Err(BackendError::new(BackendErrorKind::Invalid, why));
    if spec.identity.namespace != *engine.place.namespace() {
        let (theirs, ours) = (&spec.identity.namespace, engine.place.namespace());
        return refuse(format!("it is to be of namespace {theirs}, and this backend's is {ours}"));
    }
    check_environment(&spec.environment).or_else(refuse)
}

/// Makes sure that nobody has the name: an instance that has definitely ended is removed.
fn make_way(engine: &Engine, lock: &IdLock, spec: &SandboxSpec) -> Result<(), BackendError> {
    let Some(kept) = engine.place.named(&spec.id)? else { return Ok(()) };
    let conflict = |how: &str| {
        let text = format!("instance {} has the name and {how}", kept.record.name.id());
        Err(BackendError::new(BackendErrorKind::Conflict, text))
    };
    match Life::settled(engine, &kept.record)? {
        Life::Running(_) => conflict("runs"),
        Life::Paused(_) => conflict("is paused"),
        Life::Starting | Life::Removed => conflict("is being changed"),
        Life::Ended(_) => {
            if Members::find(engine, &kept.record)?.is_empty() {
                engine.remove(lock, &kept)
            } else {
                conflict("has ended, and processes that it started have not")
            }
        }
    }
}

fn furnish_and_start(
    engine: &Engine,
    lock: &IdLock,
    kept: &mut Kept,
    spec: &SandboxSpec,
) -> Result<(), BackendError> {
    let of = engine.place.of(&kept.record.name);
    let work = of.join(WORK);
    for directory in [&of, &work, &of.join(COMMANDS)] {
        DirBuilder::new()
            .mode(0o700)
            .create(directory)
            .map_err(|e| failed("make the directory", directory, e))?;
    }
    for mount in &spec.mounts {
        link(&work, mount, &spec.mounts)?;
    }
    let environment = environment(engine, &kept.record, spec, &work);
    let path = of.join(ENVIRONMENT);
    files::create(&path)?.write_all(&encode(&environment)).map_err(|e| failed("write", &path, e))?;
    engine.after_step("furnished");
    let (stdout, stderr) = (files::create(&of.join(STDOUT))?, files::create(&of.join(STDERR))?);
    let (program, arguments) = engine.config.command.split_first().expect("the config was checked");
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(&environment)
        .env(FIRST, kept.record.name.id().as_str())
        .current_dir(&work)
        // A group of its own: signals for the gateway's group or its terminal don't reach it, and one signal reaches all of
        // it. Files rather than pipes for what it says, so that it outlives whoever started it.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .spawn()
        .map_err(|e| cannot_start(program, e))?;
    engine.after_step("started");
    let written = process_of(&child).and_then(|process| {
        kept.record.process = Some(process);
        engine.place.write(lock, kept)
    });
    match written {
        Ok(()) => {
            engine.reaper.adopt(child);
            engine.after_step("written");
            Ok(())
        }
        Err(error) => {
            kill_group(&child);
            // It was killed, so this ends at once.
            let _ = child.wait();
            Err(error)
        }
    }
}

/// Which process a child is. It can't be mistaken, since nobody has taken its exit status.
pub(super) fn process_of(child: &Child) -> Result<ProcessId, BackendError> {
    let pid = i32::try_from(child.id()).expect("a process number is an i32");
    let gone = || BackendError::new(BackendErrorKind::Unavailable, "the new process can't be found in /proc");
    proc::look(pid)?.map(|stat| stat.process).ok_or_else(gone)
}

/// Kills the group that a child leads, while nobody has taken the child's exit status: until then its number is its own.
pub(super) fn kill_group(child: &Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

pub(super) fn cannot_start(program: &str, cause: io::Error) -> BackendError {
    let why = match cause.kind() {
        io::ErrorKind::NotFound => "there is no such program, or its directory is missing",
        io::ErrorKind::InvalidInput => "its words or variables have a NUL byte",
        io::ErrorKind::ArgumentListTooLong => "its words and variables are too long",
        io::ErrorKind::NotADirectory => "its path goes through something that is not a directory",
        _ if Errno::from_io_error(&cause) == Some(Errno::NOEXEC) => "it is not a program",
        _ => return failed("start", Path::new(program), cause),
    };
    let text = format!("cannot start {program:?}: {why}");
    BackendError::new(BackendErrorKind::Invalid, text).with_source(cause)
}

/// The variables of a sandbox: those of the gateway that it may see, those of the config, those of its spec, and ours.
fn environment(
    engine: &Engine,
    record: &Record,
    spec: &SandboxSpec,
    work: &Path,
) -> BTreeMap<String, String> {
    let inherited = engine.config.inherited.iter();
    let mut all: BTreeMap<String, String> =
        inherited.filter_map(|name| Some((name.clone(), std::env::var(name).ok()?))).collect();
    all.insert("HOME".to_owned(), work.display().to_string());
    all.extend(engine.config.environment.clone());
    all.extend(spec.environment.clone());
    if let Some(endpoint) = &record.endpoint {
        all.insert("PORT".to_owned(), endpoint.port.to_string());
    }
    all.remove(FIRST);
    all.insert(MARKER.to_owned(), record.name.id().to_string());
    all
}

fn encode(environment: &BTreeMap<String, String>) -> Vec<u8> {
    environment.iter().flat_map(|(name, value)| format!("{name}={value}\0").into_bytes()).collect()
}

/// The variables that an instance was started with.
pub(super) fn environment_of(
    engine: &Engine,
    instance: &InstanceName,
) -> Result<Vec<(String, String)>, BackendError> {
    let path = engine.place.of(instance).join(ENVIRONMENT);
    let bytes =
        files::read(&path)?.ok_or_else(|| super::error::corrupt("its variables are missing", &path))?;
    let text =
        String::from_utf8(bytes).map_err(|_| super::error::corrupt("its variables are not text", &path))?;
    let pairs = text.split_terminator('\0').filter_map(|entry| entry.split_once('='));
    Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

/// A mount is a link, since a process sees the host's own directories: `/workspace` becomes `workspace` in its work
/// directory. That it is read-only can't be enforced.
fn link(work: &Path, mount: &Mount, all: &[Mount]) -> Result<(), BackendError> {
    let refuse = |why: &str| {
        let (source, target) = (mount.source.display(), mount.target.display());
        let text = format!("cannot show {source} as {target}: {why}");
        Err(BackendError::new(BackendErrorKind::Invalid, text))
    };
    let parts: Vec<_> = mount.target.components().filter(|part| *part != Component::RootDir).collect();
    let inside = !parts.is_empty() && parts.iter().all(|part| matches!(part, Component::Normal(_)));
    if !inside || !mount.source.is_absolute() {
        return refuse("both must be absolute, without dots");
    }
    // What is made within a link is made where it leads, which is the host's.
    if all.iter().filter(|other| mount.target.starts_with(&other.target)).count() > 1 {
        return refuse("another mount is there already");
    }
    let at: PathBuf = work.iter().chain(parts.iter().map(|part| part.as_os_str())).collect();
    let parent = at.parent().expect("it lies in the work directory");
    fs::create_dir_all(parent).map_err(|e| failed("make the directory", parent, e))?;
    std::os::unix::fs::symlink(&mount.source, &at).map_err(|e| failed("make the link", &at, e))
}

/// A port on which nobody listens now.
fn free_port() -> Result<Endpoint, BackendError> {
    let at = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    let at = at.map_err(|e| failed("find a free port of", Path::new("127.0.0.1"), e))?;
    Ok(Endpoint { host: at.ip().to_string(), port: at.port() })
}
