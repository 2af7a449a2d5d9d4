//! The facade tier: what holds of the async side, O1 to O9, for the store under test behind
//! [`Offloaded`](leasehold::Offloaded).
//!
//! Each case runs as a task on both flavours of the usual runtime, every poll of it under the blocking gate where there is
//! one. Between facade and store stands a *stage*, which sees on which thread and in which order calls come, and holds them
//! at a gate of its own, before or after their effect, until the case lets them go: nothing here sleeps to meet a race.
//!
//! | you want to | use |
//! | --- | --- |
//! | have a store proved | [`conformance_suite!`](crate::conformance_suite), which has these cases with the feature `facade`, or [`facade_suite!`](crate::facade_suite), which has these alone |
//! | have an [`AsyncOwnershipStore`](leasehold::AsyncOwnershipStore) of your own proved | [`prove_by_system_calls`] and [`prove_by_threads`] |
//! | know which operation blocks | [`blocking_calls`] |
//!
//! `LEASEHOLD_ROUNDS` says how often each case is played on each flavour: once, unless it is set.
//!
//! O8, that no way leads through the facade to the sync store, is a matter of what compiles:
//!
//! ```compile_fail
//! fn inside(facade: &leasehold::Offloaded) -> &dyn leasehold::OwnershipStore {
//!     facade
//! }
//! ```

mod call;
mod cancel;
mod failing;
mod flavour;
mod lanes;
mod offloading;
mod scene;
mod stage;
mod staged;

pub use call::Call;
pub use flavour::Flavour;
pub use offloading::{Make, blocking_calls, prove_by_system_calls, prove_by_threads};

pub(crate) use cancel::{
    a_tenure_that_comes_too_late_is_released, dropped_at_every_poll,
    past_its_deadline_a_call_is_a_timeout_and_goes_on, what_had_not_begun_is_never_called,
    what_replaced_mine_stays_and_is_told,
};
pub(crate) use failing::{
    a_hung_store_stalls_nobody_else, a_panic_costs_that_call_alone, close_reports_what_it_abandons,
    close_waits_and_refuses,
};
pub(crate) use lanes::{
    a_lost_worker_is_replaced_so_often_and_no_more, no_more_than_its_workers_run_at_once,
    renewals_wait_for_nothing_else, those_who_wait_are_served_in_order,
};
pub(crate) use offloading::{
    no_operation_blocks, no_operation_runs_where_tasks_are_polled, no_way_leads_to_the_store,
};

use std::time::Duration;

use crate::case::Stop;

/// How long anything may take before a case gives up; never reached where all is well.
const PATIENCE: Duration = Duration::from_secs(20);
/// The deadline of calls that are meant to miss it. Nothing may depend on a call's having begun by then, since a crowded machine
/// may take longer: a case that needs one asks again until one has.
const SHORT: Duration = Duration::from_millis(40);
/// How often a case asks again until a call had begun by its short deadline.
const TRIES: usize = 100;

/// How often a case is played on each flavour.
pub(crate) fn rounds() -> Result<usize, Stop> {
    match std::env::var("LEASEHOLD_ROUNDS") {
        Ok(text) => match text.parse() {
            Ok(rounds) if rounds > 0 => Ok(rounds),
            _ => Err(Stop::Harness(format!("LEASEHOLD_ROUNDS={text:?} is not a whole number above zero"))),
        },
        Err(_) => Ok(1),
    }
}
