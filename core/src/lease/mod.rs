//! What a lease is, and the rules by which it changes hands: pure functions, without IO, clock or lock.

pub mod codec;
mod fence;
mod listing;
mod outcome;
mod record;
pub mod rules;
mod step;

pub use fence::{Fence, FenceExhausted};
pub use listing::{Damaged, Listing};
pub use outcome::{
    ClaimOutcome, DiscardOutcome, Intent, ReleaseOutcome, RenewOutcome, Replaced, TakeOutcome, Tenure,
};
pub use record::{Lease, Phase, Record};
pub use step::{Reading, Step, Write};
