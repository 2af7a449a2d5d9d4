//! Whose a container is.

use leasehold::{BackendErrorKind, Namespace, SandboxBackend};

use crate::support::with_yard;

#[tokio::test]
async fn a_name_that_somebody_else_has_is_left_to_them() {
    with_yard(|yard| async move {
        let backend = yard.backend();
        let spec = yard.spec("a");
        let name = format!("leasehold.{}.a", yard.namespace);
        for (labels, whose) in [
            (vec![], "no sandbox of leasehold"),
            (vec![("leasehold.namespace", "somebody-else")], "somebody-else"),
        ] {
            let theirs = yard.foreign(&name, &labels).await;
            let error = backend.create(&spec).await.unwrap_err();
            assert_eq!(error.kind(), BackendErrorKind::Foreign, "{error}");
            assert!(error.to_string().contains(whose), "{error}");
            assert_eq!(backend.discover(&spec.id).await.unwrap(), None);
            assert_eq!(backend.list().await.unwrap(), Default::default());
            assert!(yard.runs(&theirs).await);
            yard.remove(&theirs).await;
        }
    })
    .await;
}

#[tokio::test]
async fn labels_that_can_not_be_right_are_reported_and_nothing_else() {
    with_yard(|yard| async move {
        let backend = yard.backend();
        let name = format!("leasehold.{}.a", yard.namespace);
        let namespace = yard.namespace.to_string();
        let theirs =
            yard.foreign(&name, &[("leasehold.namespace", &namespace), ("leasehold.format", "9")]).await;
        let listing = backend.list().await.unwrap();
        assert_eq!((listing.found.len(), listing.unreadable.len()), (0, 1));
        assert!(listing.unreadable[0].why.contains("format"), "{:?}", listing.unreadable);
        let error = backend.discover(&yard.id("a")).await.unwrap_err();
        assert_eq!(error.kind(), BackendErrorKind::Corrupt, "{error}");
        assert_eq!(backend.create(&yard.spec("a")).await.unwrap_err().kind(), BackendErrorKind::Corrupt);
        assert!(yard.runs(&theirs).await);
        yard.remove(&theirs).await;
    })
    .await;
}

#[tokio::test]
async fn namespaces_with_the_same_beginning_have_nothing_in_common() {
    with_yard(|yard| async move {
        let mine = yard.backend();
        let longer = Namespace::new(&format!("{}-y", yard.namespace)).unwrap();
        let other = yard.with(|config| config.namespace = longer.clone());
        let mut spec = yard.spec("a");
        spec.identity.namespace = longer;
        let theirs = other.create(&spec).await.unwrap();
        assert_eq!(mine.discover(&spec.id).await.unwrap(), None);
        assert_eq!(mine.list().await.unwrap(), Default::default());
        assert_eq!(mine.destroy(&theirs.instance).await.unwrap_err().kind(), BackendErrorKind::Foreign);
        assert_eq!(mine.create(&spec).await.unwrap_err().kind(), BackendErrorKind::Invalid);
        let own = mine.create(&yard.spec("a")).await.unwrap();
        assert_eq!(other.list().await.unwrap().found.len(), 1);
        mine.destroy(&own.instance).await.unwrap();
        other.destroy(&theirs.instance).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn one_that_an_operator_renamed_is_reported_and_not_stopped() {
    with_yard(|yard| async move {
        let backend = yard.backend();
        let made = backend.create(&yard.spec("a")).await.unwrap();
        let rename = |name: String| {
            let options = bollard::query_parameters::RenameContainerOptionsBuilder::new().name(&name).build();
            let (docker, instance) = (yard.docker.clone(), made.instance.clone());
            async move { docker.rename_container(instance.as_str(), options).await.unwrap() }
        };
        rename(format!("mine.{}", yard.namespace)).await;
        assert_eq!(backend.discover(&yard.id("a")).await.unwrap(), None);
        let listing = backend.list().await.unwrap();
        assert_eq!((listing.found.len(), listing.unreadable.len()), (0, 1));
        assert_eq!(backend.destroy(&made.instance).await.unwrap_err().kind(), BackendErrorKind::Corrupt);
        assert!(yard.runs(made.instance.as_str()).await);
        rename(format!("leasehold.{}.a", yard.namespace)).await;
        backend.destroy(&made.instance).await.unwrap();
    })
    .await;
}
