//! Eight processes with four threads each hammer one namespace with every operation, and the recorded history holds: every
//! answer is explained by the lease table (so that one owner is live at any time), and none is an error.
//!
//! `LEASEHOLD_HAMMER_SECONDS` says for how long, one second unless it is set; `LEASEHOLD_SEED` what chance goes by.

use std::io::Write;
use std::time::Duration;

use leasehold_cli::harness::file::FileHarness;
use leasehold_cli::harness::redis::RedisHarness;
use leasehold_cli::harness::sqlite::SqliteHarness;
use leasehold_conformance::children::{self, Again};
use leasehold_conformance::race::Hammer;
use leasehold_conformance::{Harness, Unready, is_required};

fn hammer(harness: &dyn Harness) {
    let set = |name: &str| std::env::var(name).ok();
    let lasts = Duration::from_secs_f64(
        set("LEASEHOLD_HAMMER_SECONDS").map_or(1.0, |text| text.parse().expect("seconds")),
    );
    let seed = set("LEASEHOLD_SEED").map_or(1, |text| text.parse().expect("a whole number"));
    let name = harness.name();
    let namespace = match harness.fresh() {
        Ok(namespace) => namespace,
        Err(Unready::NotRun(why)) => {
            assert!(!is_required(&name), "not run: {why}");
            eprintln!("not run: {why}");
            return;
        }
        Err(broken) => panic!("{broken}"),
    };
    let hammer = Hammer { processes: 8, threads: 4, lasts, seed };
    let hammered = hammer.run(harness, &*namespace, &Again::test(module_path!(), "child")).unwrap();
    // Past the test harness, which keeps to itself what passing tests print.
    writeln!(std::io::stderr(), "{name}: {hammered}").expect("standard error takes a line");
    let checked = &hammered.checked;
    assert_eq!(checked.errors, Vec::<String>::new(), "{name}: not busy, not locked, no error at all");
    assert!(checked.unexplained.is_empty(), "{name}: {checked}");
    // What was not checked is not proved, so next to all has to be.
    assert!(checked.unchecked * 10_000 <= checked.explained, "{name}: {checked}");
    assert!(checked.tenures > 100, "{name}: {checked}");
}

#[test]
fn file_holds() {
    hammer(&FileHarness::default());
}

#[test]
fn sqlite_holds() {
    hammer(&SqliteHarness::default());
}

#[test]
fn redis_holds() {
    hammer(&RedisHarness::private());
}

/// The other processes: this program again, which does nothing here unless it is one of them.
#[test]
fn child() {
    let Some(name) = children::asked_for() else { return };
    let harness: Box<dyn Harness> = match name.as_str() {
        "file" => Box::new(FileHarness::default()),
        "sqlite" => Box::new(SqliteHarness::default()),
        "redis" => Box::new(RedisHarness::private()),
        other => panic!("no harness {other:?}"),
    };
    children::serve(&*harness);
}
