use std::time::Duration;

use crate::case::{Case, Tier};
use crate::children::Again;
use crate::listed::Listed;
use crate::{Day, Required, Waiver};

/// What to run, and how.
///
/// ```
/// use leasehold_conformance::Options;
/// use leasehold_conformance::case::Tier;
///
/// let options = Options { tier: Some(Tier::Core), seed: 7, ..Options::default() };
/// # let _ = options;
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// Only this tier.
    pub tier: Option<Tier>,
    /// Only this case, or the cases of this clause.
    pub case: Option<String>,
    /// What chance goes by.
    pub seed: u64,
    /// How long a case may take before it counts as hung; at least 30 times the deadline that the store declares.
    pub patience: Duration,
    /// Failures that are borne for a while, besides those that the harness names.
    pub waivers: Vec<Waiver>,
    /// Today, for the waivers' sake.
    pub today: Day,
    /// What must not be "not run".
    pub required: Required,
    /// How this program is run again as a child of itself; without it the cases that need child processes are not run.
    pub again: Option<Again>,
    /// The command that repeats a failing case, with `{case}`, `{test}` and `{seed}` to be filled in.
    pub repeat: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tier: None,
            case: None,
            seed: Self::SEED,
            patience: Duration::from_secs(120),
            waivers: Vec::new(),
            today: Day::today(),
            required: Required::from_env(),
            again: None,
            repeat: "--case {case} --seed {seed}".to_owned(),
        }
    }
}

impl Options {
    /// The seed of a run that is given none, so that two runs do the same.
    pub const SEED: u64 = 1;

    /// Whether these options ask for `case`.
    #[must_use]
    pub fn wants(&self, case: &Case) -> bool {
        self.ask_for(case)
    }

    /// The same for a case of any sort.
    pub(crate) fn ask_for<C: Listed>(&self, case: &C) -> bool {
        let named = self.case.as_deref().is_none_or(|asked| asked == case.id() || asked == case.clause());
        named && self.tier.is_none_or(|tier| tier.name() == case.group())
    }

    /// The command that repeats `case`.
    pub(crate) fn repeat_command<C: Listed>(&self, case: &C) -> String {
        let filled = self.repeat.replace("{case}", case.id()).replace("{test}", case.test());
        filled.replace("{seed}", &self.seed.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CASES;

    fn chosen(options: &Options) -> Vec<&'static str> {
        CASES.iter().filter(|case| options.wants(case)).map(|case| case.id).collect()
    }

    #[test]
    fn without_a_filter_all_cases_are_wanted() {
        assert_eq!(chosen(&Options::default()).len(), CASES.len());
    }

    #[test]
    fn a_clause_chooses_its_cases_and_an_id_one() {
        let of = |case: &str| chosen(&Options { case: Some(case.to_owned()), ..Options::default() });
        assert_eq!(of("T1"), ["T1.absent_is_taken"]);
        assert_eq!(of("T1.absent_is_taken"), ["T1.absent_is_taken"]);
        assert!(of("C3").len() > 1 && of("C3").iter().all(|id| id.starts_with("C3.")));
        assert!(of("T").is_empty() && of("T1.absent").is_empty(), "neither is the name of anything");
    }

    #[test]
    fn a_tier_chooses_its_cases_and_narrows_a_clause() {
        let core = Options { tier: Some(Tier::Core), ..Options::default() };
        assert!(CASES.iter().filter(|case| core.wants(case)).all(|case| case.tier == Tier::Core));
        assert!(chosen(&Options { case: Some("A1".to_owned()), ..core }).is_empty());
    }

    #[test]
    fn the_command_that_repeats_names_case_test_and_seed() {
        let repeat = "LEASEHOLD_SEED={seed} cargo test -p mine {test} # {case}".to_owned();
        let options = Options { repeat, seed: 9, ..Options::default() };
        let case = CASES.iter().find(|case| case.id == "T1.absent_is_taken").unwrap();
        assert_eq!(
            options.repeat_command(case),
            "LEASEHOLD_SEED=9 cargo test -p mine t1_absent_is_taken # T1.absent_is_taken"
        );
    }
}
