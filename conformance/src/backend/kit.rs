use std::collections::BTreeMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use leasehold::{
    BackendError, Command, Deadline, Execution, Exit, Identity, InstanceId, Namespace, Output, SandboxId,
    SandboxInfo, SandboxSpec, Seen, SessionKey,
};

use super::{Abilities, BackendHarness, Handle, Site};
use crate::Unready;
use crate::case::{Check, Stop, must};
use crate::guard::{guarded, said};

/// What a case works with: a site of its own, and short words for what every case does.
pub struct BackendKit {
    site: Box<dyn Site>,
    abilities: Abilities,
    namespace: Namespace,
    /// A handle for each namespace that was opened, to clean up by.
    opened: Mutex<BTreeMap<Namespace, Handle>>,
}

impl BackendKit {
    /// Between two looks of [`until`](Self::until).
    const PAUSE: Duration = Duration::from_millis(10);

    /// A kit on a fresh site of `harness`.
    pub(super) async fn new(harness: &dyn BackendHarness) -> Result<Self, Stop> {
        let abilities = guarded("abilities", || harness.abilities())?;
        let site = hooked("fresh", harness.fresh()).await?;
        let namespace = guarded("namespace", || site.namespace())?;
        Ok(Self { site, abilities, namespace, opened: Mutex::default() })
    }

    /// The site itself. Its hooks are better asked through [`hook`](Self::hook).
    #[must_use]
    pub fn site(&self) -> &dyn Site {
        &*self.site
    }

    /// What is declared.
    #[must_use]
    pub fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    /// The namespace of this case.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// A namespace whose name begins like this case's.
    #[must_use]
    pub fn neighbour(&self) -> Namespace {
        Namespace::new(&format!("{}-y", self.namespace))
            .unwrap_or_else(|e| panic!("a namespace too long: {e}"))
    }

    /// The id of this case's sandbox `word`: on an engine that many share, ids are names of theirs too.
    #[must_use]
    pub fn id(&self, word: &str) -> SandboxId {
        SandboxId::new(&format!("{}-{word}", self.namespace)).expect("cases name their sandboxes well")
    }

    /// Whose this case's sandboxes are.
    #[must_use]
    pub fn identity(&self) -> Identity {
        let session = SessionKey::new("ada", "thread/7").expect("it has no control character");
        Identity { namespace: self.namespace.clone(), session: Some(session), policy: Some("p1".into()) }
    }

    /// A sandbox of this case that runs until it is stopped.
    #[must_use]
    pub fn spec(&self, word: &str) -> SandboxSpec {
        self.site.spec(&self.id(word), &self.identity())
    }

    /// Another handle for this case's namespace.
    ///
    /// # Errors
    /// The case fails when there is none.
    pub fn open(&self) -> Result<Handle, Stop> {
        self.open_for(&self.namespace)
    }

    /// Another handle for `namespace`, which is cleaned up too.
    ///
    /// # Errors
    /// The case fails when there is none.
    pub fn open_for(&self, namespace: &Namespace) -> Result<Handle, Stop> {
        let backend = guarded("open", || self.site.open(namespace))??;
        let handle = Handle::new(backend, self.abilities.patience);
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.entry(namespace.clone()).or_insert_with(|| handle.clone());
        Ok(handle)
    }

    /// A handle, and a sandbox of this case that it made.
    ///
    /// # Errors
    /// The case fails when it can't be made.
    pub async fn made(&self, word: &str) -> Result<(Handle, SandboxInfo), Stop> {
        let handle = self.open()?;
        let made = handle.create(&self.spec(word)).await??;
        Ok((handle, made))
    }

    /// The same, waited for until it is ready.
    ///
    /// # Errors
    /// The case fails when it can't be made or does not become ready.
    pub async fn ready(&self, word: &str) -> Result<(Handle, SandboxInfo), Stop> {
        let (handle, made) = self.made(word).await?;
        let info = handle.wait_ready(&made.instance).await??;
        Ok((handle, info))
    }

    /// A hook of the site, bounded; what it fails of says nothing about the backend.
    ///
    /// # Errors
    /// [`Stop::Harness`] when it failed.
    pub async fn hook<T>(
        &self,
        what: &str,
        hook: impl Future<Output = Result<T, Unready>>,
    ) -> Result<T, Stop> {
        let patience = self.abilities.patience;
        tokio::time::timeout(patience, hooked(what, hook)).await.unwrap_or_else(|_| {
            Err(Stop::Harness(format!("{what} of the harness did not end within {patience:?}")))
        })
    }

    /// What is seen of the instance, which has to exist.
    ///
    /// # Errors
    /// The case fails when it is gone.
    pub async fn present(&self, handle: &Handle, instance: &InstanceId) -> Result<SandboxInfo, Stop> {
        match handle.inspect(instance).await?? {
            Seen::Present(info) => Ok(info),
            Seen::Gone => Err(Stop::failed(format!("instance {instance} is there"), Seen::Gone)),
        }
    }

    /// Looks again until `look` says yes.
    ///
    /// # Errors
    /// The case fails when that takes too long, or when a look does.
    pub async fn until<F: Future<Output = Result<bool, Stop>>>(
        &self,
        expected: &str,
        look: impl Fn() -> F,
    ) -> Check {
        let deadline = Deadline::after(self.abilities.patience);
        while !look().await? {
            must(!deadline.passed(), expected, "it is still not so")?;
            self.pause(Self::PAUSE).await;
        }
        Ok(())
    }

    /// Lets others run, for about that long.
    pub async fn pause(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    /// A shell script as a command.
    ///
    /// # Errors
    /// Not applicable where there is no shell.
    pub fn script(&self, text: &str) -> Result<Command, Stop> {
        let shell = self.abilities.shell.and_then(<[_]>::split_first);
        let (program, arguments) = shell.ok_or_else(|| Stop::not_applicable("there is no shell"))?;
        let command = arguments.iter().fold(Command::new(*program), |command, word| command.arg(*word));
        Ok(command.arg(text).timeout(self.abilities.patience * 2))
    }

    /// What the command says next, within the time that a call has.
    ///
    /// # Errors
    /// The case fails when it says nothing, or can't.
    pub async fn said(&self, running: &mut Box<dyn Execution>) -> Result<Output, Stop> {
        let patience = self.abilities.patience;
        match tokio::time::timeout(patience, running.next()).await {
            Ok(said) => Ok(said?),
            Err(_) => Err(Stop::failed(format!("output or an end within {patience:?}"), "nothing")),
        }
    }

    /// All that the command says on either stream, and how it ended.
    ///
    /// # Errors
    /// The case fails when it does not end.
    pub async fn finish(&self, running: &mut Box<dyn Execution>) -> Result<(Vec<u8>, Vec<u8>, Exit), Stop> {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        loop {
            match self.said(running).await? {
                Output::Stdout(bytes) => out.extend(bytes),
                Output::Stderr(bytes) => err.extend(bytes),
                Output::Exited(exit) => return Ok((out, err, exit)),
            }
        }
    }

    /// Runs a script to its end.
    ///
    /// # Errors
    /// The case fails when it can't be run or does not end.
    pub async fn run(
        &self,
        handle: &Handle,
        instance: &InstanceId,
        script: &str,
    ) -> Result<(Vec<u8>, Vec<u8>, Exit), Stop> {
        let mut running = handle.exec(instance, self.script(script)?).await??;
        self.finish(&mut running).await
    }

    /// Destroys all that is found in every namespace that was opened, and looks whether that was all.
    pub(super) async fn clean_up(&self) -> Check {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut left = Ok(());
        // What was planted goes first, since no backend removes it.
        let cleared = self.hook("clear", self.site.clear()).await;
        for handle in opened.values() {
            left = left.and(self.empty(handle).await);
        }
        left.and(cleared)
    }

    async fn empty(&self, handle: &Handle) -> Check {
        let expected = "an empty list once all that it had was destroyed";
        let deadline = Deadline::after(self.abilities.patience);
        loop {
            let listing = handle.list().await??;
            if listing.found.is_empty() && listing.unreadable.is_empty() {
                return Ok(());
            }
            must(!deadline.passed(), expected, &listing)?;
            for info in &listing.found {
                let _ = handle.destroy(&info.instance).await??;
            }
            self.pause(Self::PAUSE).await;
        }
    }
}

impl From<BackendError> for Stop {
    fn from(error: BackendError) -> Self {
        Self::failed("an answer", error)
    }
}

/// A piece of the harness, whose panic is a harness error.
async fn hooked<T>(what: &str, hook: impl Future<Output = Result<T, Unready>>) -> Result<T, Stop> {
    let mut hook = pin!(hook);
    let poll = |context: &mut std::task::Context<'_>| {
        catch_unwind(AssertUnwindSafe(|| hook.as_mut().poll(context))).unwrap_or_else(|panic| {
            let why = format!("the harness panicked in {what}: {}", said(&*panic));
            Poll::Ready(Err(Unready::broken(why)))
        })
    };
    Ok(std::future::poll_fn(poll).await?)
}
