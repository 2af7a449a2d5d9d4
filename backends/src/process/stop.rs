//! How a sandbox is stopped, in steps that hold no thread while its processes take their time.

use leasehold::{BackendError, BackendErrorKind};
use rustix::process::Signal;

use super::engine::{Engine, Step};
use super::life::Life;
use super::members::Members;
use super::name::InstanceName;
use super::record::Record;

/// What the last step found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Finished {
    /// All of it is removed.
    Removed,
    /// Processes of it have turned up.
    NotYet,
}

impl Engine {
    /// Marks the instance as being stopped, so that no command is started in it any more; `None` when it is gone already.
    pub(super) fn begin_stop(&self, instance: &InstanceName) -> Result<Step<Option<Record>>, BackendError> {
        let (lock, mut kept) = match self.locked(instance)? {
            Step::Busy => return Ok(Step::Busy),
            Step::Done(None) => return Ok(Step::Done(None)),
            Step::Done(Some(locked)) => locked,
        };
        // Its creator may have died before it wrote down which process it is.
        let process = Life::settled(self, &kept.record)?.process().or(kept.record.process);
        if !kept.record.stopping || process != kept.record.process {
            kept.record.stopping = true;
            kept.record.process = process;
            self.place.write(&lock, &kept)?;
        }
        self.after_step("stopping");
        Ok(Step::Done(Some(kept.record)))
    }

    /// Finds what still runs, and asks it to end: by TERM, for those that a signal paused as well.
    pub(super) fn ask_to_end(&self, record: &Record) -> Result<Members, BackendError> {
        let members = Members::find(self, record)?;
        // Who must not be asked is told of when killing fails too.
        let _ = members.signal(Signal::TERM);
        let _ = members.signal(Signal::CONT);
        self.after_step("asked");
        Ok(members)
    }

    /// Finds what still runs and kills it, with what came of the killing.
    pub(super) fn kill(
        &self,
        record: &Record,
        before: &Members,
    ) -> Result<(Members, Option<BackendError>), BackendError> {
        let members = Members::find_again(self, record, before)?;
        let refused = members.signal(Signal::KILL).err();
        Ok((members, refused))
    }

    /// Finds what still runs.
    pub(super) fn still_there(&self, record: &Record, before: &Members) -> Result<Members, BackendError> {
        Members::find_again(self, record, before)
    }

    /// Removes an instance of which nothing runs any more.
    pub(super) fn finish_stop(
        &self,
        instance: &InstanceName,
        before: &Members,
    ) -> Result<Step<Finished>, BackendError> {
        let (lock, kept) = match self.locked(instance)? {
            Step::Busy => return Ok(Step::Busy),
            Step::Done(None) => return Ok(Step::Done(Finished::Removed)),
            Step::Done(Some(locked)) => locked,
        };
        // Under the lock nobody starts a command; and what a dying process started while the last look went by, and was
        // missed by it, is seen by this one.
        if !Members::find_again(self, &kept.record, before)?.is_empty() {
            return Ok(Step::Done(Finished::NotYet));
        }
        self.remove(&lock, &kept)?;
        lock.finish();
        Ok(Step::Done(Finished::Removed))
    }
}

/// Why an instance could not be stopped in time.
pub(super) fn not_ended(members: &Members, refused: Option<BackendError>) -> BackendError {
    if let Some(refused) = refused {
        return refused;
    }
    let list =
        |pids: &mut dyn Iterator<Item = i32>| pids.map(|pid| pid.to_string()).collect::<Vec<_>>().join(", ");
    let ours = list(&mut members.iter().map(|process| process.pid));
    if ours.is_empty() {
        let doubtful = list(&mut members.doubtful());
        let text = format!(
            "process {doubtful} is in its group and can't be shown to be its own, so it was not touched; end it, then \
             try again"
        );
        return BackendError::new(BackendErrorKind::Unavailable, text);
    }
    BackendError::new(
        BackendErrorKind::Timeout,
        format!("process {ours} of it did not end after it was killed"),
    )
}
