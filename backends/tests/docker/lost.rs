//! An engine that does not answer, or whose answer is lost.

use std::time::Duration;

use leasehold::{BackendErrorKind, Destroyed, SandboxBackend};
use leasehold_backends::docker::{DockerBackend, EngineAddress};

use crate::support::{Yard, with_yard};
use crate::way::{Passage, Way};

fn through(yard: &Yard, way: &Way) -> DockerBackend {
    yard.with(|config| {
        config.engine = EngineAddress::unix(way.path());
        config.deadline = Duration::from_millis(700);
    })
}

#[tokio::test]
async fn an_engine_that_never_answers_is_a_timeout_of_every_call() {
    with_yard(|yard| async move {
        let place = tempfile::tempdir().unwrap();
        let way = Way::new(place.path(), Passage::Silent).unwrap();
        let backend = yard.with(|config| {
            config.engine = EngineAddress::unix(way.path());
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
        for question in [&["/containers/create"], &["/start"]] {
            let way = Way::new(place.path(), Passage::KeepsAnswer(question)).unwrap();
            let error = through(&yard, &way).create(&yard.spec("a")).await.unwrap_err();
            assert!(error.may_have_happened(), "{error}");
            assert_eq!(way.kept(), 1);
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
        let way = Way::new(place.path(), Passage::KeepsAnswer(&["DELETE "])).unwrap();
        let direct = yard.backend();
        let made = direct.create(&yard.spec("a")).await.unwrap();
        let error = through(&yard, &way).destroy(&made.instance).await.unwrap_err();
        assert!(error.may_have_happened(), "{error}");
        assert_eq!(way.kept(), 1);
        let again = async {
            // The engine may still be at it.
            while direct.inspect(&made.instance).await.unwrap() != leasehold::Seen::Gone {}
        };
        tokio::time::timeout(crate::support::PATIENCE, again).await.unwrap();
        assert_eq!(direct.destroy(&made.instance).await.unwrap(), Destroyed::AlreadyGone);
    })
    .await;
}
