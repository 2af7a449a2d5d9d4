//! An engine that does not answer, or whose answer is lost.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use leasehold::{BackendErrorKind, Destroyed, SandboxBackend};
use leasehold_backends::docker::{DockerBackend, EngineAddress};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

use crate::support::{Yard, with_yard};

/// What stands between a gateway and the engine.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Takes connections, and never says a word.
    Silent,
    /// Passes a question on and keeps the answer to those that have this in their first line.
    KeepsAnswer(&'static str),
}

/// A socket on the way to the engine. Counts the answers that it kept.
fn between(place: &Path, way: Way) -> (PathBuf, Arc<AtomicUsize>) {
    let path = place.join(format!("engine-{}.sock", OwnTag::next()));
    let listener = UnixListener::bind(&path).unwrap();
    let kept = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&kept);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let count = Arc::clone(&count);
            tokio::spawn(async move {
                match way {
                    Way::Silent => {
                        let mut client = client;
                        let _ = client.read_to_end(&mut Vec::new()).await;
                    }
                    Way::KeepsAnswer(question) => pass(client, question, &count).await,
                }
            });
        }
    });
    (path, kept)
}

struct OwnTag;

impl OwnTag {
    fn next() -> usize {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }
}

async fn pass(mut client: UnixStream, question: &str, kept: &AtomicUsize) {
    let mut engine = UnixStream::connect("/var/run/docker.sock").await.unwrap();
    let mut first = vec![0; 64 << 10];
    let Ok(n) = client.read(&mut first).await else { return };
    engine.write_all(&first[..n]).await.unwrap();
    if String::from_utf8_lossy(&first[..n]).lines().next().is_some_and(|line| line.contains(question)) {
        // The engine does as it was told; nobody hears of it.
        let mut answer = [0; 1024];
        let _ = engine.read(&mut answer).await;
        kept.fetch_add(1, Ordering::SeqCst);
        return;
    }
    let _ = tokio::io::copy_bidirectional(&mut client, &mut engine).await;
}

fn through(yard: &Yard, path: &Path) -> DockerBackend {
    yard.with(|config| {
        config.engine = EngineAddress::unix(path);
        config.deadline = Duration::from_millis(700);
    })
}

#[tokio::test]
async fn an_engine_that_never_answers_is_a_timeout_of_every_call() {
    with_yard(|yard| async move {
        let place = tempfile::tempdir().unwrap();
        let (path, _) = between(place.path(), Way::Silent);
        let backend = yard.with(|config| {
            config.engine = EngineAddress::unix(&path);
            config.deadline = Duration::from_millis(100);
        });
        let instance = leasehold::InstanceId::new("0f".repeat(32));
        let kinds = [
            backend.engine_id().await.err().unwrap().kind(),
            backend.create(&yard.spec("a")).await.err().unwrap().kind(),
            backend.inspect(&instance).await.err().unwrap().kind(),
            backend.discover(&yard.id("a")).await.err().unwrap().kind(),
            backend.list().await.err().unwrap().kind(),
            backend.condemn(&instance).await.err().unwrap().kind(),
            backend.destroy(&instance).await.err().unwrap().kind(),
            backend.exec(&instance, leasehold::Command::new("true")).await.err().unwrap().kind(),
        ];
        assert_eq!(kinds, [BackendErrorKind::Timeout; 8]);
        let error = backend.wait_ready(&instance, Duration::from_millis(300)).await.err().unwrap();
        assert_eq!(error.kind(), BackendErrorKind::Timeout, "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_create_whose_answer_is_lost_is_found_again() {
    with_yard(|yard| async move {
        let place = tempfile::tempdir().unwrap();
        for question in ["/containers/create", "/start"] {
            let (path, kept) = between(place.path(), Way::KeepsAnswer(question));
            let error = through(&yard, &path).create(&yard.spec("a")).await.unwrap_err();
            assert!(error.may_have_happened(), "{error}");
            assert_eq!(kept.load(Ordering::SeqCst), 1);
            let direct = yard.backend();
            let found = direct.discover(&yard.id("a")).await.unwrap().expect("what was made");
            let error = direct.create(&yard.spec("a")).await.unwrap_err();
            assert_eq!(error.kind(), BackendErrorKind::Conflict, "{error}");
            assert_eq!(direct.destroy(&found.instance).await.unwrap(), Destroyed::Destroyed);
        }
    })
    .await;
}

#[tokio::test]
async fn a_stop_whose_answer_is_lost_is_no_success_and_converges() {
    with_yard(|yard| async move {
        let place = tempfile::tempdir().unwrap();
        let (path, kept) = between(place.path(), Way::KeepsAnswer("DELETE "));
        let direct = yard.backend();
        let made = direct.create(&yard.spec("a")).await.unwrap();
        let error = through(&yard, &path).destroy(&made.instance).await.unwrap_err();
        assert!(error.may_have_happened(), "{error}");
        assert_eq!(kept.load(Ordering::SeqCst), 1);
        let again = async {
            // The engine may still be at it.
            while direct.inspect(&made.instance).await.unwrap() != leasehold::Seen::Gone {}
        };
        tokio::time::timeout(crate::support::PATIENCE, again).await.unwrap();
        assert_eq!(direct.destroy(&made.instance).await.unwrap(), Destroyed::AlreadyGone);
    })
    .await;
}
