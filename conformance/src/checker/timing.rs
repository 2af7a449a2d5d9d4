use std::time::Duration;

/// By which clock a store times its leases, and so how exactly a history tells when they end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// By the clock that the history was recorded with: `valid_until` is the record's expiry, to the nanosecond.
    Ours,
    /// By a server's own clock, which passes as fast as ours and shows another time.
    Servers {
        /// How much later than its TTL a lease may vanish: what the store declares.
        quantum: Duration,
        /// By how much a span of time may differ between the two clocks, either way, since both are being disciplined.
        drift: Duration,
    },
}

impl Timing {
    /// By a server's clock with `quantum`, on a machine whose clocks are disciplined as usual.
    #[must_use]
    pub fn server(quantum: Duration) -> Self {
        Self::Servers { quantum, drift: Duration::from_millis(1) }
    }

    /// How much earlier than its expiry, as reckoned by our clock, a lease may be found to have run out.
    pub(super) fn early(self) -> u64 {
        match self {
            Self::Ours => 0,
            Self::Servers { drift, .. } => nanos(drift),
        }
    }

    /// How much later than its expiry, as reckoned by our clock, a lease may be found live.
    pub(super) fn late(self) -> u64 {
        match self {
            Self::Ours => 0,
            Self::Servers { quantum, drift } => nanos(quantum + drift),
        }
    }
}

pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
