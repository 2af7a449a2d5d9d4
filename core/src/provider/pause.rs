//! The switch that stops all tidying up, while acquires and renewals go on.

use std::time::Duration;

use parking_lot::Mutex;

use crate::Moment;

#[derive(Default)]
pub(super) struct Pause {
    paused: Mutex<Option<Paused>>,
}

struct Paused {
    /// `None`: until it is resumed.
    until: Option<Moment>,
    reason: String,
}

impl Pause {
    /// The environment variable that switches tidying up off from the start when it is `off`.
    pub(super) const VARIABLE: &str = "LEASEHOLD_REAPING";

    pub(super) fn pause(&self, until: Option<Moment>, reason: impl Into<String>) {
        *self.paused.lock() = Some(Paused { until, reason: reason.into() });
    }

    pub(super) fn resume(&self) {
        *self.paused.lock() = None;
    }

    /// Why nothing may be tidied up at `now`, if so.
    pub(super) fn reason(&self, now: Moment) -> Option<String> {
        let mut paused = self.paused.lock();
        if paused.as_ref().is_some_and(|paused| paused.until.is_some_and(|until| until <= now)) {
            *paused = None;
        }
        let paused = paused.as_ref()?;
        Some(match paused.until {
            Some(until) => format!("{} (for another {:?})", paused.reason, whole_seconds(until.since(now))),
            None => paused.reason.clone(),
        })
    }

    pub(super) fn is_on(&self, now: Moment) -> bool {
        self.reason(now).is_some()
    }
}

fn whole_seconds(duration: Duration) -> Duration {
    Duration::from_secs(duration.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_by_itself_or_when_told() {
        let pause = Pause::default();
        let at = |seconds: u64| Moment::from_nanos(seconds * 1_000_000_000);
        assert!(!pause.is_on(at(0)));
        pause.pause(Some(at(10)), "looking at an incident");
        assert_eq!(pause.reason(at(4)).as_deref(), Some("looking at an incident (for another 6s)"));
        assert!(!pause.is_on(at(10)));
        pause.pause(None, "off");
        assert!(pause.is_on(at(1_000_000)));
        pause.resume();
        assert!(!pause.is_on(at(0)));
    }
}
