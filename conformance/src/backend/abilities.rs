use std::time::Duration;

use leasehold::BackendOperation;

/// What a backend and its harness can do. Declared, never guessed: a case whose ability is missing is not applicable, and one
/// whose ability is declared and fails is a harness error.
///
/// ```
/// use leasehold_conformance::backend::Abilities;
/// use std::time::Duration;
///
/// let mine = Abilities::new().shell(&["sh", "-c"]).kill().patience(Duration::from_secs(60));
/// assert!(mine.kill && !mine.pause);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Abilities {
    /// How a shell script is run in a sandbox: the program and the arguments before the script. It knows `echo`, `cat`,
    /// `head`, `sleep`, `test` and `kill`. `None` where a sandbox has no shell: then no case of `exec` is applicable.
    pub shell: Option<&'static [&'static str]>,
    /// How long any one call may take, and anything that is waited for, before it counts as hung; 30 s unless said
    /// otherwise. Longer than the backend's own bounds.
    pub patience: Duration,
    /// [`Site::kill`](super::Site::kill) is there.
    pub kill: bool,
    /// [`Site::pause`](super::Site::pause) is there.
    pub pause: bool,
    /// [`Site::cut`](super::Site::cut) and [`Site::mend`](super::Site::mend) are there.
    pub outage: bool,
    /// For which operations [`Site::lose_reply`](super::Site::lose_reply) is there: some of create, condemn and destroy.
    pub lost_replies: &'static [BackendOperation],
    /// [`Site::plant_foreign`](super::Site::plant_foreign) and
    /// [`Site::foreign_is_there`](super::Site::foreign_is_there) are there.
    pub foreign: bool,
    /// [`Site::plant_unreadable`](super::Site::plant_unreadable) is there.
    pub unreadable: bool,
}

impl Abilities {
    /// Nothing but what every backend can do.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            shell: None,
            patience: Duration::from_secs(30),
            kill: false,
            pause: false,
            outage: false,
            lost_replies: &[],
            foreign: false,
            unreadable: false,
        }
    }

    /// With a shell in every sandbox: program and arguments before the script.
    #[must_use]
    pub const fn shell(self, words: &'static [&'static str]) -> Self {
        Self { shell: Some(words), ..self }
    }

    /// With another time for each call.
    #[must_use]
    pub const fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// With instances that can be ended behind the backend's back.
    #[must_use]
    pub const fn kill(self) -> Self {
        Self { kill: true, ..self }
    }

    /// With instances that can be paused behind the backend's back.
    #[must_use]
    pub const fn pause(self) -> Self {
        Self { pause: true, ..self }
    }

    /// With an engine that can be made unreachable, and reachable again.
    #[must_use]
    pub const fn outage(self) -> Self {
        Self { outage: true, ..self }
    }

    /// With answers of these operations that can be lost.
    #[must_use]
    pub const fn lost_replies(self, of: &'static [BackendOperation]) -> Self {
        Self { lost_replies: of, ..self }
    }

    /// With things of somebody else that can stand under a sandbox's name.
    #[must_use]
    pub const fn foreign(self) -> Self {
        Self { foreign: true, ..self }
    }

    /// With instances that can be made so that nobody understands them.
    #[must_use]
    pub const fn unreadable(self) -> Self {
        Self { unreadable: true, ..self }
    }
}

impl Default for Abilities {
    fn default() -> Self {
        Self::new()
    }
}
