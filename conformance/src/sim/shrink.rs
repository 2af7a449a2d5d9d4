//! The shortest schedule that still breaks the same rule.

use std::time::Duration;

use super::plan::{Happening, Plan, What};
use super::run::{Guard, Ran, run};

/// How many simulations it may take.
const PATIENCE: usize = 600;

/// Cuts `plan` down to what its failure needs. Returns it with its last simulation, which is told.
pub(super) fn shrunk(plan: &Plan, without: Guard) -> (Plan, Ran) {
    let mut shortest = plan.clone();
    let Some(failure) = run(plan, without, false).failure else {
        return (shortest, run(plan, without, true));
    };
    let mut left = PATIENCE;
    let mut still = |plan: &Plan| {
        if left == 0 {
            return false;
        }
        left -= 1;
        run(plan, without, false).failure.is_some_and(|found| found.rule == failure.rule)
    };
    // What comes after the failure is not needed; the end is, where the rule is about what is left over.
    loop {
        let before = shortest.clone();
        cut(&mut shortest, &mut still);
        simplify(&mut shortest, &mut still);
        if shortest == before {
            break;
        }
    }
    let told = run(&shortest, without, true);
    (shortest, told)
}

/// Leaves out halves, quarters and so on down to single happenings.
fn cut(plan: &mut Plan, still: &mut impl FnMut(&Plan) -> bool) {
    let mut size = plan.happenings.len().div_ceil(2);
    while size > 0 {
        let mut from = 0;
        while from < plan.happenings.len() {
            let mut shorter = plan.clone();
            shorter.happenings.drain(from..(from + size).min(plan.happenings.len()));
            if still(&shorter) {
                *plan = shorter;
            } else {
                from += size;
            }
        }
        size /= 2;
    }
}

/// Makes what is left simpler, one thing at a time.
fn simplify(plan: &mut Plan, still: &mut impl FnMut(&Plan) -> bool) {
    let mut attempt = |plan: &mut Plan, change: &dyn Fn(&mut Plan)| {
        let mut simpler = plan.clone();
        change(&mut simpler);
        if simpler != *plan && still(&simpler) {
            *plan = simpler;
        }
    };
    attempt(plan, &|plan| plan.make.capacity = None);
    attempt(plan, &|plan| plan.make.exceed_capacity = false);
    attempt(plan, &|plan| plan.make.slowness = 10);
    attempt(plan, &|plan| {
        let last = plan.happenings.last().map_or(Duration::ZERO, |last| last.at);
        plan.make.length = plan.make.length.min(last + Duration::from_secs(60));
    });
    let used = |plan: &Plan| plan.happenings.iter().filter_map(|happening| happening.what.gateway()).max();
    if let Some(most) = used(plan) {
        attempt(plan, &|plan| plan.make.gateways = most + 1);
    }
    for at in 0..plan.happenings.len() {
        let acts = match &plan.happenings[at].what {
            What::Visit(visit) => visit.acts.len(),
            _ => 0,
        };
        for act in (0..acts).rev() {
            attempt(plan, &|plan| {
                if let Happening { what: What::Visit(visit), .. } = &mut plan.happenings[at] {
                    visit.acts.remove(act);
                }
            });
        }
        attempt(plan, &|plan| {
            if let Happening { what: What::Visit(visit), .. } = &mut plan.happenings[at] {
                visit.gives_up = None;
            }
        });
        attempt(plan, &|plan| {
            if let Happening { what: What::Store { calls, .. } | What::Engine { calls, .. }, .. } =
                &mut plan.happenings[at]
            {
                *calls = 1;
            }
        });
    }
}
