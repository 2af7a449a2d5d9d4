use std::fs;
use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

use super::{Boot, BootId, Clock, WallTime};
use crate::{ErrorKind, Moment, StoreError};

/// The kernel's boot clock: it never steps, counts the time the host was suspended, and reads the same in every process.
///
/// A process in a time namespace of its own sees that clock shifted; the shift is read once and taken out again, so
/// that containers which share a directory agree on the time.
///
/// ```
/// use leasehold::{BootClock, Clock};
///
/// let clock = BootClock::new()?;
/// assert!(clock.now() <= clock.now());
/// # Ok::<(), leasehold::StoreError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BootClock {
    /// Nanoseconds that this time namespace adds to the boot clock.
    shift: i64,
    boot: BootId,
}

impl BootClock {
    const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
    const OFFSETS: &str = "/proc/self/timens_offsets";

    /// Finds out which boot this is and how far this time namespace is shifted.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] when `/proc` doesn't say; without a boot id nobody can tell a lease of this boot
    /// from one of the last.
    pub fn new() -> Result<Self, StoreError> {
        let text = fs::read_to_string(Self::BOOT_ID).map_err(|e| {
            StoreError::new(ErrorKind::Unsupported, format!("cannot read {}; mount /proc", Self::BOOT_ID))
                .with_source(e)
        })?;
        let boot = BootId::parse(&text).ok_or_else(|| {
            StoreError::new(ErrorKind::Unsupported, format!("{} has no boot id in it", Self::BOOT_ID))
        })?;
        // Kernels without time namespaces have no such file, and then nothing is shifted.
        let shift = fs::read_to_string(Self::OFFSETS).map_or(0, |text| boot_offset(&text));
        Ok(Self { shift, boot })
    }
}

impl Clock for BootClock {
    fn now(&self) -> Moment {
        Moment::from_nanos(nanos(clock_gettime(ClockId::Boottime)).saturating_add_signed(-self.shift))
    }

    fn wall(&self) -> WallTime {
        nanos(clock_gettime(ClockId::Realtime)) / 1_000
    }

    fn boot(&self) -> Boot {
        let up = Duration::from_nanos(self.now().as_nanos());
        Boot { id: self.boot, started: self.wall().saturating_sub(up.as_micros() as u64) }
    }
}

fn nanos(time: Timespec) -> u64 {
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

/// The line `boottime <seconds> <nanoseconds>` of the kernel's offsets file, in nanoseconds.
fn boot_offset(text: &str) -> i64 {
    text.lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find_map(|words| match words[..] {
            ["boottime", seconds, nanos] => {
                Some(seconds.parse::<i64>().ok()?.saturating_mul(1_000_000_000) + nanos.parse::<i64>().ok()?)
            }
            _ => None,
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_is_the_boottime_line() {
        assert_eq!(
            boot_offset("monotonic           0         0\nboottime           12         5\n"),
            12_000_000_005
        );
        assert_eq!(boot_offset("monotonic 1 0\nboottime -3 0\n"), -3_000_000_000);
        assert_eq!(boot_offset(""), 0);
    }

    #[test]
    fn the_kernel_started_in_the_past_and_under_one_id() {
        let (a, b) = (BootClock::new().unwrap(), BootClock::new().unwrap());
        assert_eq!(a.boot().id, b.boot().id);
        assert!(a.boot().started < a.wall());
    }
}
