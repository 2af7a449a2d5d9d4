//! Every kind of blocking work trips the gate; no honest work does; on both flavours of the runtime.

use leasehold_gate::canaries::{self, Canary, Finding, Sanctioned};

#[track_caller]
fn sound(name: &str, finding: Finding) {
    match finding {
        Finding::Sound => {}
        Finding::Wrong(how) => panic!("{name}: {how}"),
        Finding::NotRun { need, why } => {
            let required = std::env::var("LEASEHOLD_REQUIRE").unwrap_or_default();
            assert!(
                !required.split(',').any(|name| name.trim() == need),
                "{name}: {why}, and it is required"
            );
            eprintln!("not run: {name}: {why}");
        }
        other => panic!("{name}: {other:?}"),
    }
}

/// The gate's own tests are about the gate, so without it they are not run, and say so.
fn gate_is_here() -> bool {
    leasehold_gate::status().is_available() || {
        leasehold_gate::during(|| ());
        false
    }
}

async fn each_trips_inline(canaries: &[Canary]) {
    for canary in canaries {
        sound(canary.name(), canary.inline().await);
    }
}

async fn none_trips_offloaded(canaries: &[Canary]) {
    for canary in canaries {
        sound(canary.name(), canary.offloaded().await);
    }
}

async fn none_is_reported(honest: &[Sanctioned]) {
    for work in honest {
        sound(work.name(), work.run().await);
    }
}

macro_rules! on_both_flavours {
    ($($name:ident: $check:expr;)*) => {
        mod current_thread {
            use super::*;
            $(#[tokio::test]
            async fn $name() {
                if gate_is_here() {
                    $check.await;
                }
            })*
        }
        mod multi_thread {
            use super::*;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if gate_is_here() {
                    $check.await;
                }
            })*
        }
    };
}

on_both_flavours! {
    every_canary_trips_inline: each_trips_inline(canaries::all());
    no_canary_trips_offloaded: none_trips_offloaded(canaries::all());
    no_honest_work_trips: none_is_reported(canaries::sanctioned());
}

#[test]
fn the_whole_run_is_sound_and_counts_what_it_tried() {
    if !gate_is_here() {
        return;
    }
    let report = canaries::run_all();
    assert!(report.is_sound(), "{report}");
    assert_eq!(report.tripped + report.not_run.len(), canaries::all().len());
    assert_eq!(report.sanctioned, canaries::sanctioned().len());
    assert!(report.tripped >= 30, "{report}");
}

#[test]
fn no_two_canaries_have_one_name() {
    let mut names: Vec<_> = canaries::all().iter().map(Canary::name).collect();
    names.sort_unstable();
    let before = names.len();
    names.dedup();
    assert_eq!(names.len(), before);
}
