use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use leasehold_conformance::case::Stop;
use leasehold_conformance::{
    CASES, Harness, Options, Outage, Progress, Required, Verdict, Waiver, run_all, run_case,
};

use crate::support::{Odd, Quirk, case, made_up, options};

fn verdict(quirk: Quirk, id: &str) -> Verdict {
    run_case(&shared(Odd::with(quirk)), case(id), &options())
}

fn shared(odd: Odd) -> Arc<dyn Harness> {
    Arc::new(odd)
}

#[track_caller]
fn is_harness_error(verdict: &Verdict, says: &str) {
    assert!(matches!(verdict, Verdict::HarnessError(why) if why.contains(says)), "{verdict:?}");
}

#[test]
fn a_rule_that_holds_passes() {
    assert_eq!(verdict(Quirk::Nothing, "T1.absent_is_taken"), Verdict::Passed);
}

#[test]
fn a_store_that_panics_has_failed() {
    let verdict = verdict(Quirk::StorePanics, "T1.absent_is_taken");
    let Verdict::Failed { expected, seen } = verdict else { panic!("{verdict:?}") };
    assert_eq!(expected, case("T1.absent_is_taken").rule);
    assert!(seen.contains("the store fell over"), "{seen}");
}

#[test]
fn a_harness_that_panics_or_is_broken_says_nothing_of_the_store() {
    for (quirk, id, says) in [
        (Quirk::FreshPanics, "T1.absent_is_taken", "panicked in fresh: nothing is fresh"),
        (Quirk::FreshIsBroken, "T1.absent_is_taken", "the directory is gone"),
        (Quirk::CapabilitiesPanic, "T1.absent_is_taken", "what can it do?"),
        (Quirk::StoredPanics, "S5.released_ids_take_no_room", "how many?"),
        (Quirk::StoredPanics, "C7.nothing_is_planted_on_absent", "how many?"),
        (Quirk::DamagePanics, "X2.damage_is_never_absence", "panicked in damage: no Torn"),
    ] {
        is_harness_error(&verdict(quirk, id), says);
    }
}

#[test]
fn what_a_case_needs_and_nobody_offers_makes_it_not_applicable() {
    for (id, lacks) in [
        ("X2.damage_is_never_absence", "damage"),
        ("X1.hung_is_an_error", "hangs"),
        ("X3.the_same_handle_works_again", "outage"),
        ("F4.it_grows_after_a_loss_of_everything", "loss of everything"),
        ("I2.a_foreign_lease_is_a_peers", "foreign"),
        ("E3.a_reboot_voids_what_was_written_before", "boot"),
        ("P2.a_killed_process_leaves_its_leases", "beyond this process"),
    ] {
        let verdict = verdict(Quirk::Nothing, id);
        assert!(matches!(&verdict, Verdict::NotApplicable(why) if why.contains(lacks)), "{id}: {verdict:?}");
    }
}

#[test]
fn what_is_not_on_this_machine_is_not_run_unless_it_is_required() {
    let harness = shared(Odd::with(Quirk::FreshIsNotRun));
    let asked = |required: &str| {
        let options = Options { required: Required::list(required), ..options() };
        run_case(&harness, case("T1.absent_is_taken"), &options)
    };
    for not_named in ["", "docker,gate", "redis-tls"] {
        assert!(matches!(asked(not_named), Verdict::NotRun(why) if why.contains("no Redis")));
    }
    for named in ["redis", "gate, odd"] {
        is_harness_error(&asked(named), "LEASEHOLD_REQUIRE names");
    }
}

#[test]
fn a_case_that_hangs_is_given_up_and_named() {
    let harness = Odd::with(Quirk::StoreHangs);
    let options = Options { patience: Duration::from_millis(50), case: Some("T1".to_owned()), ..options() };
    let report = run_all(&shared(harness.clone()), &options, &mut |_| {});
    harness.gate.open();
    let hung = matches!(&report.lines[0].verdict, Verdict::Failed { seen, .. } if seen.contains("hung"));
    assert!(hung && report.text().contains("FAIL T1.absent_is_taken"), "{}", report.text());
}

#[test]
fn an_outage_ends_even_if_the_store_panics_in_it() {
    let odd = Odd::with(Quirk::DamagePanics);
    let proof = made_up(|kit| kit.faults()?.through(Outage::Down, || panic!("in the dark")));
    let verdict = proof.run(&odd, 1);
    assert!(matches!(verdict, Verdict::Failed { seen, .. } if seen.contains("in the dark")));
    assert!(!odd.out.load(Ordering::SeqCst));
}

#[test]
fn every_stop_has_its_verdict() {
    let of = |case: leasehold_conformance::case::Case| case.run(&Odd::default(), 1);
    assert_eq!(of(made_up(|_| Ok(()))), Verdict::Passed);
    let failed = of(made_up(|_| Err(Stop::failed("one", 2))));
    assert_eq!(failed, Verdict::Failed { expected: "one".to_owned(), seen: "2".to_owned() });
    assert_eq!(of(made_up(|_| Err(Stop::not_applicable("why")))), Verdict::NotApplicable("why".to_owned()));
    assert_eq!(of(made_up(|_| Err(Stop::NotRun("why".to_owned())))), Verdict::NotRun("why".to_owned()));
    assert_eq!(
        of(made_up(|_| Err(Stop::Harness("why".to_owned())))),
        Verdict::HarnessError("why".to_owned())
    );
}

#[test]
fn a_case_is_given_the_seed() {
    let proof = made_up(|kit| Err(Stop::failed("a seed", kit.seed())));
    let verdict = proof.run(&Odd::default(), 77);
    assert!(matches!(verdict, Verdict::Failed { seen, .. } if seen == "77"));
}

#[test]
fn a_run_tells_of_every_case_as_it_begins_and_as_it_ends() {
    let options = Options { case: Some("C3".to_owned()), ..options() };
    let mut told = Vec::new();
    let report = run_all(&shared(Odd::default()), &options, &mut |progress| {
        told.push(match progress {
            Progress::Began(case, n, of) => format!("{n}/{of} {}", case.id),
            Progress::Ended(line) => format!("{} {}", line.verdict, line.case.id),
        });
    });
    let wanted: Vec<_> = CASES.iter().filter(|case| case.clause() == "C3").collect();
    let expected: Vec<_> = wanted
        .iter()
        .enumerate()
        .flat_map(|(n, case)| {
            [format!("{}/{} {}", n + 1, wanted.len(), case.id), format!("pass {}", case.id)]
        })
        .collect();
    assert_eq!(told, expected);
    assert!(report.is_success());
}

#[test]
fn a_store_in_memory_passes_at_least_sixty_cases_and_fails_none() {
    let report = run_all(&shared(Odd::default()), &options(), &mut |_| {});
    let passed = report.lines.iter().filter(|line| line.verdict == Verdict::Passed).count();
    assert!(report.is_success() && !report.is_partial() && passed >= 60, "{}", report.text());
}

#[test]
fn a_run_of_which_nothing_can_be_said_is_no_success() {
    let options = Options { case: Some("X3".to_owned()), ..options() };
    let report = run_all(&shared(Odd::default()), &options, &mut |_| {});
    assert!(!report.is_success() && !report.has_failed(), "{}", report.text());
    assert!(report.text().contains("nothing is shown"), "{}", report.text());
    let none = Options { case: Some("Q".to_owned()), ..options };
    assert!(!run_all(&shared(Odd::default()), &none, &mut |_| {}).is_success());
}

#[test]
fn the_waivers_of_harness_and_options_count_alike() {
    let unneeded = Waiver::new("A1.one_claim_of_many_wins", "known", "2027-01-01");
    let unknown = Waiver::new("A1.no_such_case", "known", "2027-01-01");
    let harness = Odd { waivers: vec![unneeded], ..Odd::default() };
    let options = Options { case: Some("A1".to_owned()), waivers: vec![unknown], ..options() };
    let report = run_all(&shared(harness), &options, &mut |_| {});
    assert_eq!(report.findings.len(), 2, "{:?}", report.findings);
    assert!(report.has_failed() && report.summary().contains("1 passed, 2 failed"), "{}", report.summary());
}

#[test]
fn a_waived_failure_makes_the_run_partial_and_not_a_failure() {
    let waiver = Waiver::new("A1.one_claim_of_many_wins", "the driver's bug 123", "2027-01-01");
    let harness = Odd { waivers: vec![waiver], ..Odd::with(Quirk::StorePanics) };
    let options = Options { case: Some("A1".to_owned()), ..options() };
    let report = run_all(&shared(harness), &options, &mut |_| {});
    assert!(report.is_partial() && !report.has_failed(), "{}", report.text());
    assert!(report.text().contains("until 2027-01-01: the driver's bug 123"), "{}", report.text());
}
