use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

use super::{BackendHarness, BackendKit, BackendNeed, CASES};
use crate::case::{Check, Stop};
use crate::guard::said;
use crate::{Listed, Report, Verdict};

/// How a run on a backend went.
pub type BackendReport = Report<BackendCase>;

/// The proof of a case.
pub type Proof = for<'k> fn(&'k BackendKit) -> Pin<Box<dyn Future<Output = Check> + Send + 'k>>;

/// One case: a sentence that every backend must keep, and the function that proves it.
#[derive(Clone, Copy)]
pub struct BackendCase {
    /// Its name for ever: what it is about, dot, words.
    pub id: &'static str,
    /// Its name as a `#[test]` of [`backend_suite!`](crate::backend_suite).
    pub test: &'static str,
    /// What must be true.
    pub rule: &'static str,
    /// The version of the contract that it came with.
    pub since: &'static str,
    /// What it can't do without; where one of these is missing the case is not applicable.
    pub needs: &'static [BackendNeed],
    /// The proof.
    pub proof: Proof,
}

impl BackendCase {
    /// How many threads poll a case's tasks, so that calls side by side are.
    const THREADS: usize = 4;

    /// Proves the rule on a fresh site of `harness`, here and now: on this thread, for as long as it takes.
    ///
    /// A panic is caught and is a failure of the backend; one in the harness's own code is a harness error.
    pub fn run(&self, harness: &dyn BackendHarness) -> Verdict {
        let made = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(Self::THREADS)
            .thread_name(self.id)
            .enable_all()
            .build();
        let runtime = match made {
            Ok(runtime) => runtime,
            Err(error) => return Verdict::HarnessError(format!("no runtime for the case: {error}")),
        };
        let checked = runtime.block_on(self.play(harness));
        // What hangs on a thread of the runtime is left behind rather than waited for.
        runtime.shutdown_background();
        Verdict::from(checked)
    }

    async fn play(&self, harness: &dyn BackendHarness) -> Check {
        let kit = BackendKit::new(harness).await?;
        self.needs.iter().try_for_each(|need| need.met(&kit))?;
        let proved = self.caught((self.proof)(&kit)).await;
        let cleaned = self.caught(Box::pin(kit.clean_up())).await;
        proved.and(cleaned)
    }

    /// The same, with a panic as a failure.
    async fn caught(&self, mut proof: Pin<Box<dyn Future<Output = Check> + Send + '_>>) -> Check {
        std::future::poll_fn(move |context| {
            catch_unwind(AssertUnwindSafe(|| proof.as_mut().poll(context))).unwrap_or_else(|panic| {
                Poll::Ready(Err(Stop::Failed {
                    expected: self.rule.to_owned(),
                    seen: format!("a panic: {}", said(&*panic)),
                }))
            })
        })
        .await
    }
}

impl fmt::Debug for BackendCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackendCase").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Listed for BackendCase {
    const SUBJECT: &'static str = "backend";

    fn all() -> &'static [Self] {
        CASES
    }

    fn groups() -> Vec<&'static str> {
        let mut groups: Vec<_> = CASES.iter().map(Self::clause).collect();
        groups.dedup();
        groups
    }

    fn id(&self) -> &'static str {
        self.id
    }

    fn test(&self) -> &'static str {
        self.test
    }

    fn rule(&self) -> &'static str {
        self.rule
    }

    fn since(&self) -> &'static str {
        self.since
    }

    fn family(&self) -> &'static str {
        self.clause()
    }

    fn group(&self) -> &'static str {
        self.clause()
    }

    fn needs(&self) -> Vec<String> {
        self.needs.iter().map(ToString::to_string).collect()
    }

    fn not_waivable(&self) -> Option<String> {
        let (id, clause) = (self.id, self.clause());
        let decides = !matches!(clause, "exec" | "ready");
        decides.then(|| format!("{id} is of {clause}, which decides about sandboxes and can't be waived"))
    }
}
