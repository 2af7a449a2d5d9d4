use crate::case::{Case, Tier};
use crate::report::Line;
use crate::{CASES, Verdict};

/// A failure that is borne for a while, with a reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiver {
    /// The case's id.
    pub case: String,
    /// Why it is borne.
    pub reason: String,
    /// The last day, as `YYYY-MM-DD`.
    pub until: String,
}

impl Waiver {
    pub(crate) fn covers(&self, case: &Case, today: &str) -> bool {
        self.case == case.id && today <= self.until.as_str()
    }
}

/// What is wrong with the waivers themselves, each a failure of the run.
pub(crate) fn findings(waivers: &[Waiver], lines: &[Line], today: &str) -> Vec<String> {
    let finding = |waiver: &Waiver| {
        let Waiver { case: id, until, .. } = waiver;
        let Some(case) = CASES.iter().find(|case| case.id == id) else {
            return Some(format!("the waiver of {id} matches no case"));
        };
        if case.tier == Tier::Core {
            return Some(format!("{id} is of the core tier, which can't be waived"));
        }
        if today > until.as_str() {
            return Some(format!("the waiver of {id} ran out on {until}"));
        }
        let line = lines.iter().find(|line| line.case.id == id)?;
        (!matches!(line.verdict, Verdict::Waived { .. }))
            .then(|| format!("the waiver of {id} is no longer needed: {}", line.verdict))
    };
    waivers.iter().filter_map(finding).collect()
}
