use std::time::Duration;

use leasehold_conformance::{CASES, Line, Report, Verdict};

use crate::support::case;

fn line(id: &str, verdict: Verdict) -> Line {
    let repeat = format!("mine --case {id} --seed 3");
    Line { case: *case(id), verdict, took: Duration::from_micros(1_500), repeat }
}

fn report(lines: Vec<Line>) -> Report {
    Report { name: "mine".to_owned(), seed: 3, lines, findings: Vec::new() }
}

fn failed() -> Verdict {
    Verdict::Failed { expected: "Taken".to_owned(), seen: "BeingDestroyed\nof sbx-1".to_owned() }
}

fn mixed() -> Report {
    report(vec![
        line("T1.absent_is_taken", Verdict::Passed),
        line("T2.mine_is_taken_anew", failed()),
        line("C1.absent_is_claimed", Verdict::Passed),
        line("X1.down_is_an_error", Verdict::NotApplicable("no server".to_owned())),
        line("A1.one_claim_of_many_wins", Verdict::NotRun("no Redis".to_owned())),
        line(
            "A2.takes_follow_one_another",
            Verdict::Waived { reason: "bug 123".to_owned(), until: "2026-12-31".to_owned() },
        ),
        line("P2.a_killed_process_leaves_its_leases", Verdict::NotApplicable("no reach".to_owned())),
    ])
}

#[test]
fn the_header_tells_each_tier_and_that_it_is_partial() {
    // A tier that this build of the kit has no cases for is not spoken of.
    let facade = if cfg!(feature = "facade") { " · facade not asked for" } else { "" };
    let header = format!(
        "mine: contract 1.0 · core 2/3 · race 0/2 · model not asked for · durability not declared{facade} · partial: 1 \
         waived, 1 not run"
    );
    assert_eq!(mixed().header(), header);
}

#[test]
fn the_last_line_counts_what_passed_failed_did_not_apply_and_was_not_run() {
    let text = mixed().text();
    assert_eq!(text.lines().last(), Some("mine: 2 passed, 1 failed, 2 not applicable, 1 not run"));
    let with_findings = Report { findings: vec!["a waiver is wrong".to_owned()], ..mixed() };
    assert_eq!(with_findings.summary(), "mine: 2 passed, 2 failed, 2 not applicable, 1 not run");
    assert!(with_findings.text().contains("FAIL a waiver is wrong"));
}

#[test]
fn the_table_is_grouped_by_family_and_says_why_something_was_left_out() {
    let text = mixed().text();
    let order: Vec<_> =
        ["\n  take\n", "T1.absent", "\n  claim\n", "C1.absent", "\n  unknown\n", "no server", "no Redis"]
            .iter()
            .map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}")))
            .collect();
    assert!(order.is_sorted(), "{text}");
    assert!(text.contains("until 2026-12-31: bug 123"), "{text}");
}

#[test]
fn a_failure_is_told_in_full() {
    let text = mixed().text();
    let told = text.split("\n  FAIL T2.mine_is_taken_anew\n").nth(1).unwrap();
    let expected =
        "        rule: take of my Held lease begins a new tenure with a larger fence and a whole TTL
    expected: Taken
        seen: BeingDestroyed
              of sbx-1
      repeat: mine --case T2.mine_is_taken_anew --seed 3
";
    assert!(told.starts_with(expected), "{told}");
}

#[test]
fn success_is_that_nothing_failed_and_something_passed() {
    let passed = || line("T1.absent_is_taken", Verdict::Passed);
    assert!(report(vec![passed()]).is_success());
    assert!(
        report(vec![passed(), line("X1.down_is_an_error", Verdict::NotRun("why".to_owned()))]).is_success()
    );
    assert!(!report(vec![passed(), line("T2.mine_is_taken_anew", failed())]).is_success());
    let error = Verdict::HarnessError("why".to_owned());
    assert!(!report(vec![passed(), line("T2.mine_is_taken_anew", error)]).is_success());
    assert!(!Report { findings: vec!["why".to_owned()], ..report(vec![passed()]) }.is_success());
    assert!(!report(vec![]).is_success());
}

#[test]
fn the_report_for_programs_has_all_of_it() {
    let json = mixed().json();
    assert_eq!(json["store"], "mine");
    assert_eq!((&json["success"], &json["partial"], &json["seed"]), (&false.into(), &true.into(), &3.into()));
    let cases = json["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 7);
    let failed = &cases[1];
    assert_eq!(failed["case"], "T2.mine_is_taken_anew");
    assert_eq!(
        (&failed["clause"], &failed["family"], &failed["tier"]),
        (&"T2".into(), &"take".into(), &"core".into())
    );
    assert_eq!((&failed["verdict"], &failed["expected"]), (&"FAIL".into(), &"Taken".into()));
    assert_eq!(failed["repeat"], "mine --case T2.mine_is_taken_anew --seed 3");
    assert_eq!((&cases[5]["verdict"], &cases[5]["until"]), (&"waived".into(), &"2026-12-31".into()));
    assert_eq!(cases[3]["needs"][0], "server that is down");
}

#[test]
fn every_case_has_a_family_with_a_name() {
    assert!(CASES.iter().all(|case| case.family() != "other"));
}
