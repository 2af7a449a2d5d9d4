use crate::listed::Listed;
use crate::report::Line;
use crate::{Day, Verdict};

/// A failure that is borne for a while, with a reason and a last day. A harness says which; see
/// [`Harness::waivers`](crate::Harness::waivers).
///
/// A waiver keeps itself honest: one that matches no case, that ran out or that is no longer needed is a failure of the
/// run, and the core tier can't be waived at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiver {
    /// The case's id.
    pub case: String,
    /// Why it is borne.
    pub reason: String,
    /// The last day it holds, as `2026-12-31`.
    pub until: String,
}

impl Waiver {
    /// Bears the failure of `case`, because of `reason`, up to and on the day `until` (written as `2026-12-31`).
    pub fn new(case: impl Into<String>, reason: impl Into<String>, until: impl Into<String>) -> Self {
        Self { case: case.into(), reason: reason.into(), until: until.into() }
    }

    /// Whether a failure of `case` is borne today.
    fn covers<C: Listed>(&self, case: &C, today: Day) -> bool {
        self.case == case.id() && self.flaw::<C>(today).is_none()
    }

    /// Why it can't hold, whatever the cases come to.
    fn flaw<C: Listed>(&self, today: Day) -> Option<String> {
        let Self { case: id, reason, until } = self;
        let Some(case) = C::all().iter().find(|case| case.id() == id) else {
            return Some(format!("the waiver of {id} matches no case"));
        };
        if let Some(why) = case.not_waivable() {
            return Some(why);
        }
        if reason.trim().is_empty() {
            return Some(format!("the waiver of {id} gives no reason"));
        }
        match until.parse::<Day>() {
            Ok(last) if today > last => Some(format!("the waiver of {id} ran out on {last}")),
            Ok(_) => None,
            Err(why) => Some(format!("the waiver of {id} has no last day: {why}")),
        }
    }

    /// Why it should go, now that its case came to `verdict`.
    fn needless(&self, verdict: &Verdict) -> Option<String> {
        let needless = matches!(verdict, Verdict::Passed | Verdict::NotApplicable(_));
        needless.then(|| format!("the waiver of {} is no longer needed: {verdict}", self.case))
    }
}

/// The verdict on `case` in the light of the waivers.
pub(crate) fn waive<C: Listed>(case: &C, verdict: Verdict, waivers: &[Waiver], today: Day) -> Verdict {
    let waiver = waivers.iter().find(|waiver| waiver.covers(case, today));
    match (verdict, waiver) {
        (Verdict::Failed { .. }, Some(waiver)) => {
            Verdict::Waived { reason: waiver.reason.clone(), until: waiver.until.clone() }
        }
        (verdict, _) => verdict,
    }
}

/// What is wrong with the waivers themselves, each a failure of the run.
pub(crate) fn findings<C: Listed>(waivers: &[Waiver], lines: &[Line<C>], today: Day) -> Vec<String> {
    let finding = |waiver: &Waiver| {
        let line = || lines.iter().find(|line| line.case.id() == waiver.case);
        waiver.flaw::<C>(today).or_else(|| waiver.needless(&line()?.verdict))
    };
    waivers.iter().filter_map(finding).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::CASES;
    use crate::case::Case;

    const RACE: &str = "A1.one_claim_of_many_wins";

    fn today() -> Day {
        "2026-06-15".parse().unwrap()
    }

    fn case(id: &str) -> &'static Case {
        CASES.iter().find(|case| case.id == id).unwrap()
    }

    fn failed() -> Verdict {
        Verdict::Failed { expected: "one".to_owned(), seen: "two".to_owned() }
    }

    fn ran(id: &str, verdict: Verdict) -> Line {
        Line { case: *case(id), verdict, took: Duration::ZERO, repeat: String::new() }
    }

    #[test]
    fn a_failure_is_borne_up_to_and_on_the_last_day() {
        for (until, borne) in [("2026-06-15", true), ("2027-01-01", true), ("2026-06-14", false)] {
            let waivers = [Waiver::new(RACE, "the server is being replaced", until)];
            let verdict = waive(case(RACE), failed(), &waivers, today());
            assert_eq!(matches!(verdict, Verdict::Waived { .. }), borne, "{until}");
            let findings = findings(&waivers, &[ran(RACE, verdict)], today());
            assert_eq!(findings.is_empty(), borne, "{until}: {findings:?}");
        }
    }

    #[test]
    fn another_case_is_not_covered() {
        let waivers = [Waiver::new("A2.takes_follow_one_another", "known", "2027-01-01")];
        assert_eq!(waive(case(RACE), failed(), &waivers, today()), failed());
    }

    #[test]
    fn the_core_tier_can_not_be_waived() {
        let waivers = [Waiver::new("T1.absent_is_taken", "it is hard", "2027-01-01")];
        let verdict = waive(case("T1.absent_is_taken"), failed(), &waivers, today());
        assert_eq!(verdict, failed());
        let found = findings(&waivers, &[ran("T1.absent_is_taken", verdict)], today());
        assert!(found[0].contains("can't be waived"), "{found:?}");
    }

    #[test]
    fn a_waiver_that_holds_for_nothing_is_a_failure() {
        for (waiver, lines, says) in [
            (Waiver::new("A9.no_such", "known", "2027-01-01"), vec![], "matches no case"),
            (Waiver::new(RACE, "known", "2026-01-01"), vec![], "ran out on 2026-01-01"),
            (Waiver::new(RACE, "known", "some day"), vec![], "no last day"),
            (Waiver::new(RACE, " ", "2027-01-01"), vec![], "no reason"),
            (
                Waiver::new(RACE, "known", "2027-01-01"),
                vec![ran(RACE, Verdict::Passed)],
                "no longer needed: pass",
            ),
        ] {
            let found = findings(&[waiver], &lines, today());
            assert!(found[0].contains(says), "{found:?}");
        }
    }

    #[test]
    fn a_case_that_was_not_run_says_nothing_of_its_waiver() {
        let waivers = [Waiver::new(RACE, "known", "2027-01-01")];
        let not_run = Verdict::NotRun("no server".to_owned());
        assert_eq!(findings(&waivers, &[ran(RACE, not_run)], today()), Vec::<String>::new());
        assert_eq!(findings::<Case>(&waivers, &[], today()), Vec::<String>::new());
    }

    #[test]
    fn a_harness_error_is_never_borne() {
        let waivers = [Waiver::new(RACE, "known", "2027-01-01")];
        let error = Verdict::HarnessError("no thread".to_owned());
        assert_eq!(waive(case(RACE), error.clone(), &waivers, today()), error);
    }
}
