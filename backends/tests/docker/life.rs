//! From create to gone, with every state in between.

use std::time::Duration;

use leasehold::{BackendErrorKind, Condemned, Condition, Destroyed, InstanceId, SandboxBackend, Seen};

use crate::support::{PATIENCE, all, with_yard};

#[tokio::test]
async fn a_sandbox_from_create_to_gone() {
    with_yard(|yard| async move {
        let backend = yard.backend();
        let spec = yard.spec("a");
        let made = backend.create(&spec).await.unwrap();
        assert_eq!((&made.id, &made.identity, &made.creator), (&spec.id, &spec.identity, &spec.creator));
        let ready = backend.wait_ready(&made.instance, PATIENCE).await.unwrap();
        assert!(ready.is_usable());
        let endpoint = ready.endpoint.clone().expect("an endpoint");
        assert_eq!(endpoint.host, "127.0.0.1");
        // Another gateway's handle sees the same, each way.
        let other = yard.backend();
        assert_eq!(other.discover(&spec.id).await.unwrap().as_ref(), Some(&ready));
        assert_eq!(other.inspect(&made.instance).await.unwrap(), Seen::Present(ready.clone()));
        let listing = other.list().await.unwrap();
        assert_eq!((listing.found, listing.unreadable), (vec![ready], vec![]));
        // It is condemned: it runs on, and its name is free.
        assert_eq!(other.condemn(&made.instance).await.unwrap(), Condemned::Condemned);
        assert_eq!(backend.condemn(&made.instance).await.unwrap(), Condemned::Condemned);
        assert_eq!(backend.discover(&spec.id).await.unwrap(), None);
        let Seen::Present(condemned) = backend.inspect(&made.instance).await.unwrap() else { panic!() };
        assert!(condemned.condemned && condemned.condition == Condition::Running);
        let twin = backend.create(&spec).await.unwrap();
        assert_ne!(twin.instance, made.instance);
        assert_eq!(backend.list().await.unwrap().found.len(), 2);
        assert_eq!(other.destroy(&made.instance).await.unwrap(), Destroyed::Destroyed);
        assert_eq!(other.destroy(&made.instance).await.unwrap(), Destroyed::AlreadyGone);
        assert_eq!(backend.inspect(&made.instance).await.unwrap(), Seen::Gone);
        assert_eq!(backend.condemn(&made.instance).await.unwrap(), Condemned::Gone);
        assert_eq!(
            backend.discover(&spec.id).await.unwrap().map(|it| it.instance),
            Some(twin.instance.clone())
        );
        assert_eq!(backend.destroy(&twin.instance).await.unwrap(), Destroyed::Destroyed);
    })
    .await;
}

#[tokio::test]
async fn no_state_of_the_engines_is_taken_for_another() {
    with_yard(|yard| async move {
        let backend = yard.running("trap '' TERM; sleep 1000");
        let made = backend.create(&yard.spec("a")).await.unwrap();
        let id = made.instance.as_str();
        let seen = || async {
            let Seen::Present(info) = backend.inspect(&made.instance).await.unwrap() else { panic!("gone") };
            let found = backend.list().await.unwrap().found;
            assert_eq!(found.iter().map(|row| &row.condition).collect::<Vec<_>>(), [&info.condition]);
            info.condition
        };
        assert_eq!(seen().await, Condition::Running);
        yard.docker.pause_container(id).await.unwrap();
        assert_eq!(seen().await, Condition::Stopped("paused".into()));
        let error = backend.wait_ready(&made.instance, Duration::from_millis(300)).await.unwrap_err();
        assert_eq!(error.kind(), BackendErrorKind::NotReady, "{error}");
        yard.docker.unpause_container(id).await.unwrap();
        assert_eq!(seen().await, Condition::Running);
        yard.docker.kill_container(id, None).await.unwrap();
        while seen().await == Condition::Running {}
        assert_eq!(seen().await, Condition::Ended("exited".into()));
        assert_eq!(backend.destroy(&made.instance).await.unwrap(), Destroyed::Destroyed);
    })
    .await;
}

#[tokio::test]
async fn a_paused_one_and_one_that_ignores_the_signal_are_stopped_too() {
    with_yard(|yard| async move {
        let backend = yard.with(|config| {
            config.command =
                ["sh", "-c", "trap '' TERM; while true; do sleep 1; done"].map(str::to_owned).to_vec();
            (config.port, config.ready) = (None, Default::default());
            (config.init, config.stop_patience) = (false, Duration::from_secs(1));
        });
        for paused in [false, true] {
            let made = backend.create(&yard.spec("a")).await.unwrap();
            if paused {
                yard.docker.pause_container(made.instance.as_str()).await.unwrap();
            }
            assert_eq!(backend.destroy(&made.instance).await.unwrap(), Destroyed::Destroyed);
            assert_eq!(backend.inspect(&made.instance).await.unwrap(), Seen::Gone);
        }
    })
    .await;
}

#[tokio::test]
async fn what_can_not_be_started_leaves_nothing() {
    with_yard(|yard| async move {
        let without = |init| {
            yard.with(|config| (config.command, config.init) = (vec!["/no/such/program".into()], init))
        };
        let missing = without(false);
        let error = missing.create(&yard.spec("a")).await.unwrap_err();
        assert!(error.to_string().contains("/no/such/program"), "{error}");
        assert_eq!(error.kind(), BackendErrorKind::Invalid, "{error}");
        let network = yard.with(|config| config.network = Some("leasehold-no-such-network".into()));
        let error = network.create(&yard.spec("a")).await.unwrap_err();
        assert!(error.to_string().contains("leasehold-no-such-network"), "{error}");
        assert_eq!(yard.backend().list().await.unwrap(), Default::default());
        // The engine's own first process starts, and says what it misses.
        let missing = without(true);
        let made = missing.create(&yard.spec("a")).await.unwrap();
        let error = missing.wait_ready(&made.instance, PATIENCE).await.unwrap_err();
        assert_eq!(error.kind(), BackendErrorKind::Exited, "{error}");
        assert!(error.to_string().contains("/no/such/program"), "{error}");
        missing.destroy(&made.instance).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_missing_image_says_what_to_do() {
    with_yard(|yard| async move {
        let backend = yard.with(|config| config.image = "leasehold-test/no-such-image:1".into());
        let error = backend.create(&yard.spec("a")).await.unwrap_err();
        assert_eq!(error.kind(), BackendErrorKind::Invalid);
        let text = error.to_string();
        assert!(text.contains("leasehold-test/no-such-image:1") && text.contains("`pull`"), "{text}");
    })
    .await;
}

#[tokio::test]
async fn of_many_that_make_one_sandbox_one_does() {
    with_yard(|yard| async move {
        let spec = yard.spec("a");
        let makers: Vec<_> = (0..8)
            .map(|_| {
                let (backend, spec) = (yard.backend(), spec.clone());
                tokio::spawn(async move { backend.create(&spec).await })
            })
            .collect();
        let mut made = Vec::new();
        for maker in makers {
            match maker.await.unwrap() {
                Ok(info) => made.push(info),
                Err(error) => assert_eq!(error.kind(), BackendErrorKind::Conflict, "{error}"),
            }
        }
        assert_eq!(made.len(), 1);
        let found = yard.backend().list().await.unwrap().found;
        assert_eq!(found.iter().map(|it| &it.instance).collect::<Vec<_>>(), [&made[0].instance]);
        yard.backend().destroy(&made[0].instance).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn anonymous_volumes_go_with_their_sandbox() {
    with_yard(|yard| async move {
        let backend = yard.running("sleep 1000");
        let before = yard
            .docker
            .list_volumes(None::<bollard::query_parameters::ListVolumesOptions>)
            .await
            .unwrap()
            .volumes
            .unwrap_or_default()
            .len();
        let made = backend.create(&yard.spec("a")).await.unwrap();
        backend.destroy(&made.instance).await.unwrap();
        let after = yard
            .docker
            .list_volumes(None::<bollard::query_parameters::ListVolumesOptions>)
            .await
            .unwrap()
            .volumes
            .unwrap_or_default()
            .len();
        assert!(after <= before, "{before} {after}");
    })
    .await;
}

#[tokio::test]
async fn an_instance_that_is_none_reaches_no_container() {
    with_yard(|yard| async move {
        let backend = yard.backend();
        let mine = yard.foreign(&format!("leasehold-test.{}.bystander", yard.namespace), &[]).await;
        let before = all(&yard.docker).await.len();
        for hostile in ["", &mine[..12], "leasehold-test", "../info", "..%2finfo"] {
            let hostile = InstanceId::new(hostile);
            assert_eq!(backend.destroy(&hostile).await.unwrap_err().kind(), BackendErrorKind::Invalid);
            assert_eq!(backend.condemn(&hostile).await.unwrap_err().kind(), BackendErrorKind::Invalid);
            assert_eq!(backend.inspect(&hostile).await.unwrap_err().kind(), BackendErrorKind::Invalid);
        }
        // By its whole id it is looked at, and left alone.
        let whole = InstanceId::new(mine.as_str());
        assert_eq!(backend.destroy(&whole).await.unwrap_err().kind(), BackendErrorKind::Foreign);
        assert_eq!(backend.condemn(&whole).await.unwrap_err().kind(), BackendErrorKind::Foreign);
        assert!(yard.runs(&mine).await);
        assert_eq!(all(&yard.docker).await.len(), before);
        yard.remove(&mine).await;
    })
    .await;
}
