use leasehold::{BackendError, Condition};

use super::engine::Engine;
use super::host::Reckoned;
use super::lock::Locking;
use super::name::InstanceName;
use super::place::Kept;
use super::proc::{self, Stat};
use super::record::{ProcessId, Record};
use super::spawn;

/// How an instance that has a record is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// Its first process runs.
    Running(ProcessId),
    /// Its first process was stopped by a signal and may go on.
    Paused(ProcessId),
    /// Somebody is starting it right now.
    Starting,
    /// Its first process has ended for good, or was never started; the text says which.
    Ended(&'static str),
    /// It was removed since its record was read.
    Removed,
}

impl Life {
    /// How `record`'s instance is. Changes nothing.
    ///
    /// # Errors
    /// Whenever that can't be told for sure.
    pub(super) fn of(engine: &Engine, record: &Record) -> Result<Self, BackendError> {
        if let Some(known) = Self::known(engine, record)? {
            return Ok(known);
        }
        // Its creator has not written the process down: it is at it, or it died.
        match engine.place.lock(&record.name.directory, false)? {
            Locking::Busy => Ok(Self::Starting),
            // Somebody finished it or destroyed it since it was read.
            Locking::Absent => Ok(Self::Removed),
            Locking::Locked(_lock) => match engine.place.find(&record.name)? {
                Some(Kept { record, .. }) => Self::settled(engine, &record),
                None => Ok(Self::Removed),
            },
        }
    }

    /// The same for whoever has the lock, so that nobody can be starting it.
    pub(super) fn settled(engine: &Engine, record: &Record) -> Result<Self, BackendError> {
        if let Some(known) = Self::known(engine, record)? {
            return Ok(known);
        }
        match orphan(engine, &record.name)? {
            Some(stat) => Ok(Self::of_process(&stat)),
            None => Ok(Self::Ended("its creator died before it was started")),
        }
    }

    /// How it is by its record, unless its creator never wrote down which process it is.
    fn known(engine: &Engine, record: &Record) -> Result<Option<Self>, BackendError> {
        if let Reckoned::AnotherBoot = engine.host.reckon(&record.birthplace, record.created)? {
            return Ok(Some(Self::Ended("the host was restarted since")));
        }
        let Some(process) = record.process else { return Ok(None) };
        Ok(Some(match proc::look(process.pid)? {
            Some(stat) if stat.process == process => Self::of_process(&stat),
            Some(_) => Self::Ended("its process has ended, and another has its number"),
            None => Self::Ended("its process has ended"),
        }))
    }

    fn of_process(stat: &Stat) -> Self {
        if stat.has_ended() {
            Self::Ended("its process has ended")
        } else if stat.is_paused() {
            Self::Paused(stat.process)
        } else {
            Self::Running(stat.process)
        }
    }

    /// The first process, where there is one.
    pub(super) fn process(&self) -> Option<ProcessId> {
        match self {
            Self::Running(process) | Self::Paused(process) => Some(*process),
            Self::Starting | Self::Ended(_) | Self::Removed => None,
        }
    }

    pub(super) fn condition(&self) -> Condition {
        match self {
            Self::Running(_) => Condition::Running,
            Self::Paused(_) => Condition::Stopped("paused by a signal".to_owned()),
            Self::Starting => Condition::Stopped("being started".to_owned()),
            Self::Ended(why) => Condition::Ended((*why).to_owned()),
            Self::Removed => Condition::Ended("removed".to_owned()),
        }
    }
}

/// The sandbox of a creator that died before it wrote down which process it had started: the leader of a group that was
/// started with its marker, and the first such if there are several. One that is only just starting its program shows no
/// marker yet, and is known by where it works.
fn orphan(engine: &Engine, instance: &InstanceName) -> Result<Option<Stat>, BackendError> {
    let (marker, of) = (spawn::first_marker(instance), engine.place.of(instance));
    let mut oldest: Option<Stat> = None;
    for stat in proc::all()? {
        let leads = stat.group == stat.process.pid && !stat.has_ended();
        let earlier = oldest.is_none_or(|oldest| stat.process.start < oldest.process.start);
        if leads && earlier && proc::shows(stat.process, &marker, &of)? {
            oldest = Some(stat);
        }
    }
    Ok(oldest)
}
