use std::time::Duration;

use leasehold::Reach;

/// What a store and its harness declare about themselves. A case that needs more is "not applicable", and a declaration
/// that turns out untrue is a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// How far leases are seen. [`Reach::Host`] and wider need [`Namespace::address`](super::Namespace::address).
    pub reach: Reach,
    /// The store times leases by the clock it is opened with, so that the kit can move time instead of waiting.
    pub virtual_time: bool,
    /// Records carry the writer's boot id, so that the kit can restart the kernel (of a virtual clock).
    pub boot_bound: bool,
    /// The shortest TTL that real-time cases use. The longer, the less a slow machine can disturb them.
    pub real_ttl: Duration,
    /// The deadline the store promises for every operation, which the cases with a broken server hold it to.
    pub deadline: Duration,
}

impl Capabilities {
    /// A store that takes a clock.
    #[must_use]
    pub fn virtual_time(reach: Reach) -> Self {
        Self {
            reach,
            virtual_time: true,
            boot_bound: false,
            real_ttl: Duration::from_millis(400),
            deadline: Duration::from_secs(5),
        }
    }

    /// A store whose server times the leases.
    #[must_use]
    pub fn real_time(reach: Reach) -> Self {
        Self { virtual_time: false, ..Self::virtual_time(reach) }
    }

    /// The same, with records that carry the boot id of their writer.
    #[must_use]
    pub fn boot_bound(self) -> Self {
        Self { boot_bound: true, ..self }
    }

    /// The same, with the deadline the store promises for every operation.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }
}
