//! The kit for backends on what keeps every rule, and on harnesses that fail.

#[path = "../examples/own_backend.rs"]
#[allow(dead_code, reason = "its main is not called here")]
mod own_backend;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use leasehold::{BackendError, InstanceId, Namespace, SandboxBackend};
use leasehold_conformance::backend::{
    Abilities, BackendCase, BackendHarness, CASES, ModelHarness, ModelSite, Site, run_all, run_case,
};
use leasehold_conformance::{Listed, Options, Progress, Required, Unready, Verdict, Waiver};

mod model {
    leasehold_conformance::backend_suite!(leasehold_conformance::backend::ModelHarness);
}

mod rooms {
    leasehold_conformance::backend_suite!(super::own_backend::RoomsHarness);
}

/// The model, with a harness that does something wrong.
#[derive(Clone, Copy)]
enum Odd {
    HasNoEngine,
    PanicsInFresh,
    PanicsInOpen,
    DeclaresWhatItHasNot,
    HangsInKill,
    PanicsInKill,
    WaivesTooMuch,
    LeavesSomething,
}

struct OddSite(Odd, ModelSite);

#[async_trait]
impl BackendHarness for Odd {
    fn name(&self) -> String {
        "odd".to_owned()
    }

    fn abilities(&self) -> Abilities {
        Abilities::new().kill().pause().patience(Duration::from_secs(1))
    }

    async fn fresh(&self) -> Result<Box<dyn Site>, Unready> {
        match self {
            Self::HasNoEngine => Err(Unready::not_run("no docker on this machine")),
            Self::PanicsInFresh => panic!("fresh went wrong"),
            _ => Ok(Box::new(OddSite(*self, ModelSite::new()?))),
        }
    }

    fn waivers(&self) -> Vec<Waiver> {
        match self {
            Self::WaivesTooMuch => vec![Waiver::new("destroy.goes_by_instance", "it is hard", "2999-01-01")],
            _ => Vec::new(),
        }
    }
}

#[async_trait]
impl Site for OddSite {
    fn namespace(&self) -> Namespace {
        self.1.namespace()
    }

    fn open(&self, namespace: &Namespace) -> Result<Arc<dyn SandboxBackend>, BackendError> {
        assert!(!matches!(self.0, Odd::PanicsInOpen), "open went wrong");
        self.1.open(namespace)
    }

    async fn kill(&self, instance: &InstanceId) -> Result<(), Unready> {
        match self.0 {
            Odd::HangsInKill => std::future::pending().await,
            Odd::PanicsInKill => panic!("kill went wrong"),
            _ => self.1.kill(instance).await,
        }
    }

    async fn clear(&self) -> Result<(), Unready> {
        match self.0 {
            Odd::LeavesSomething => self.1.plant_unreadable(&"left".parse().expect("it is an id")).await,
            _ => self.1.clear().await,
        }
    }
}

fn case(id: &str) -> &'static BackendCase {
    CASES.iter().find(|case| case.id == id).unwrap()
}

fn verdict(odd: Odd, id: &str, options: &Options) -> Verdict {
    let harness: Arc<dyn BackendHarness> = Arc::new(odd);
    run_case(&harness, case(id), options)
}

#[test]
fn a_harness_that_fails_is_a_harness_error_and_says_where() {
    let (killed, paused) =
        ("discover.one_that_ended_is_not_running", "discover.one_that_is_paused_is_not_running");
    for (odd, id, says) in [
        (Odd::PanicsInFresh, killed, "fresh went wrong"),
        (Odd::PanicsInOpen, killed, "open went wrong"),
        (Odd::PanicsInKill, killed, "kill went wrong"),
        (Odd::HangsInKill, killed, "kill of the harness did not end"),
        (Odd::DeclaresWhatItHasNot, paused, "declares pause"),
    ] {
        match verdict(odd, id, &Options::default()) {
            Verdict::HarnessError(why) => assert!(why.contains(says), "{why}"),
            other => panic!("{says}: {other:?}"),
        }
    }
}

#[test]
fn without_an_engine_nothing_is_run_unless_it_is_required() {
    let of = |required: &str| {
        let options = Options { required: Required::list(required), ..Options::default() };
        verdict(Odd::HasNoEngine, "destroy.goes_by_instance", &options)
    };
    assert_eq!(of(""), Verdict::NotRun("no docker on this machine".to_owned()));
    assert!(matches!(of("docker"), Verdict::HarnessError(_)));
}

#[test]
fn what_is_left_at_the_end_fails_the_case() {
    let verdict = verdict(Odd::LeavesSomething, "condemn.twice_is_harmless", &Options::default());
    assert!(
        matches!(&verdict, Verdict::Failed { expected, .. } if expected.contains("empty list")),
        "{verdict:?}"
    );
}

#[test]
fn what_is_not_offered_is_not_applicable() {
    let verdict = verdict(Odd::DeclaresWhatItHasNot, "engine.an_outage_is_an_error", &Options::default());
    assert!(matches!(verdict, Verdict::NotApplicable(why) if why.contains("engine that is down")));
}

#[test]
fn what_decides_about_sandboxes_can_not_be_waived() {
    let harness: Arc<dyn BackendHarness> = Arc::new(Odd::WaivesTooMuch);
    let options = Options { case: Some("destroy.goes_by_instance".to_owned()), ..Options::default() };
    let report = run_all(&harness, &options, &mut |_| {});
    assert!(report.has_failed() && report.findings[0].contains("can't be waived"), "{:?}", report.findings);
    assert_eq!(case("exec.it_has_its_variables").not_waivable(), None);
}

#[test]
fn a_run_tells_of_each_case_and_makes_a_report_of_backends() {
    let harness: Arc<dyn BackendHarness> = Arc::new(ModelHarness);
    let options = Options { case: Some("condemn".to_owned()), ..Options::default() };
    let mut began = Vec::new();
    let report = run_all(&harness, &options, &mut |progress| {
        if let Progress::Began(case, _, _) = progress {
            began.push(case.id);
        }
    });
    let all: Vec<_> =
        CASES.iter().filter(|case| case.id.starts_with("condemn.")).map(|case| case.id).collect();
    assert_eq!((began, report.lines.len()), (all.clone(), all.len()));
    assert!(report.is_success(), "{}", report.text());
    assert!(report.header().contains(&format!("condemn {0}/{0}", all.len())), "{}", report.header());
    assert!(report.header().contains("exec not asked for"), "{}", report.header());
    assert_eq!(report.json()["backend"], "model");
}
