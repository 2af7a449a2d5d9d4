//! One name, one instance: creating, condemning, and what has the name then.

use std::sync::Arc;

use leasehold::{BackendErrorKind, Condemned, Condition, Destroyed, Mount, SandboxBackend};
use tokio::task::JoinSet;

use crate::support::{
    Root, has_ended, id, is_gone, is_taken, kill, mode, present, runs, sh, spec, until, walk,
};

#[tokio::test]
async fn a_made_sandbox_is_found_with_its_full_identity() {
    let root = Root::new();
    let backend = root.backend();
    let made = backend.create(&spec("sbx-1")).await.unwrap();
    assert_eq!((&made.id, &made.identity), (&id("sbx-1"), &spec("sbx-1").identity));
    assert_eq!((&made.creator, made.condemned), (&spec("sbx-1").creator, false));
    assert_eq!(made.condition, Condition::Running);
    assert!(made.created.is_some_and(|created| created > 1_600_000_000_000_000));
    assert!(runs(root.pid_of(&made.instance)));
    assert_eq!(backend.discover(&id("sbx-1")).await.unwrap(), Some(made.clone()));
    assert_eq!(present(&backend, &made.instance).await, made);
    let listing = backend.list().await.unwrap();
    assert_eq!((listing.found, listing.unreadable), (vec![made.clone()], Vec::new()));
    assert_eq!(backend.destroy(&made.instance).await.unwrap(), Destroyed::Destroyed);
}

#[tokio::test]
async fn a_name_that_is_taken_is_a_conflict_and_changes_nothing() {
    let root = Root::new();
    let backend = root.backend();
    let made = backend.create(&spec("a")).await.unwrap();
    assert!(is_taken(&backend, "a").await);
    assert!(is_taken(&root.backend(), "a").await, "for another handle as well");
    assert_eq!(backend.list().await.unwrap().found, vec![made]);
}

#[tokio::test]
async fn ids_that_differ_in_case_or_length_alone_are_different_sandboxes() {
    let root = Root::new();
    let backend = root.backend();
    for text in ["a", "A", "a.b", "a-b", &"X".repeat(128)] {
        backend.create(&spec(text)).await.unwrap();
    }
    assert_eq!(backend.list().await.unwrap().found.len(), 5);
    assert_eq!(backend.discover(&id("A")).await.unwrap().unwrap().id, id("A"));
}

#[tokio::test]
async fn of_many_who_create_one_id_at_once_one_succeeds() {
    let root = Root::new();
    let backends: Vec<_> = (0..4).map(|_| Arc::new(root.backend())).collect();
    let mut racers = JoinSet::new();
    for number in 0..16 {
        let backend = Arc::clone(&backends[number % backends.len()]);
        racers.spawn(async move { backend.create(&spec("raced")).await });
    }
    let results = racers.join_all().await;
    let made: Vec<_> = results.iter().flatten().collect();
    assert_eq!(made.len(), 1, "{results:?}");
    for error in results.iter().filter_map(|result| result.as_ref().err()) {
        assert_eq!(error.kind(), BackendErrorKind::Conflict, "{error}");
    }
    assert_eq!(root.processes(), vec![root.pid_of(&made[0].instance)]);
}

#[tokio::test]
async fn the_name_of_one_that_has_ended_is_used_again_and_its_remains_go() {
    let root = Root::new();
    let backend = root.backend();
    let first = backend.create(&spec("a")).await.unwrap();
    let pid = root.pid_of(&first.instance);
    kill(pid);
    until("it ended", || !runs(pid)).await;
    assert!(has_ended(&present(&backend, &first.instance).await));
    let second = backend.create(&spec("a")).await.unwrap();
    assert_ne!(first.instance, second.instance);
    assert!(is_gone(&backend, &first.instance).await && !root.of(&first.instance).exists());
    assert_eq!(backend.list().await.unwrap().found, vec![second]);
}

#[tokio::test]
async fn the_name_of_one_whose_children_are_left_is_not_used_again() {
    let root = Root::new();
    let backend = root.running("sleep 1000 & wait");
    let made = backend.create(&spec("a")).await.unwrap();
    until("its child runs", || root.processes().len() == 2).await;
    let pid = root.pid_of(&made.instance);
    kill(pid);
    until("it ended", || !runs(pid)).await;
    assert!(has_ended(&backend.discover(&id("a")).await.unwrap().unwrap()));
    assert!(is_taken(&backend, "a").await);
    assert_eq!(backend.destroy(&made.instance).await.unwrap(), Destroyed::Destroyed);
    assert_eq!(root.processes(), Vec::<i32>::new());
    backend.create(&spec("a")).await.unwrap();
}

#[tokio::test]
async fn a_condemned_instance_runs_on_without_a_name_and_the_name_is_free() {
    let root = Root::new();
    let backend = root.backend();
    let first = backend.create(&spec("a")).await.unwrap();
    assert_eq!(backend.condemn(&first.instance).await.unwrap(), Condemned::Condemned);
    assert_eq!(backend.condemn(&first.instance).await.unwrap(), Condemned::Condemned, "twice is harmless");
    assert_eq!(backend.discover(&id("a")).await.unwrap(), None);
    let seen = present(&backend, &first.instance).await;
    assert!(seen.condemned && seen.condition == Condition::Running && !seen.is_usable());
    let second = backend.create(&spec("a")).await.unwrap();
    assert_eq!(
        backend.condemn(&first.instance).await.unwrap(),
        Condemned::Condemned,
        "by instance, not by name"
    );
    assert_eq!(backend.discover(&id("a")).await.unwrap(), Some(second.clone()));
    let mut listed = backend.list().await.unwrap().found;
    listed.sort_by_key(|info| info.condemned);
    assert_eq!(listed, vec![second.clone(), seen]);
    assert_eq!(backend.destroy(&first.instance).await.unwrap(), Destroyed::Destroyed);
    assert!(runs(root.pid_of(&second.instance)), "the one that has the name now is left alone");
    assert_eq!(backend.condemn(&first.instance).await.unwrap(), Condemned::Gone);
    assert_eq!(backend.list().await.unwrap().found, vec![second]);
}

#[tokio::test]
async fn no_list_misses_one_that_is_being_condemned() {
    let root = Root::new();
    let backend = Arc::new(root.backend());
    let mut instances = Vec::new();
    for number in 0..20 {
        instances.push(backend.create(&spec(&format!("s{number}"))).await.unwrap().instance);
    }
    let (other, doomed) = (root.backend(), instances.clone());
    let condemning = tokio::spawn(async move {
        for instance in &doomed {
            assert_eq!(other.condemn(instance).await.unwrap(), Condemned::Condemned);
        }
    });
    while !condemning.is_finished() {
        let listing = backend.list().await.unwrap();
        assert_eq!((listing.found.len(), listing.unreadable.len()), (instances.len(), 0));
    }
    condemning.await.unwrap();
    assert!(backend.list().await.unwrap().found.iter().all(|info| info.condemned));
}

#[tokio::test]
async fn everything_kept_is_for_this_user_alone() {
    let root = Root::new();
    let made = root.backend().create(&spec("a")).await.unwrap();
    let mut seen = 0;
    walk(&root.path(), &mut |path| {
        seen += 1;
        let wanted = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(path), wanted, "{}", path.display());
    });
    assert!(seen > 6 && mode(&root.path()) == 0o700 && root.of(&made.instance).exists());
}

#[tokio::test]
async fn it_sees_its_variables_and_mounts_and_none_of_the_gateways_secrets() {
    let root = Root::new();
    let shared = tempfile::tempdir().unwrap();
    std::fs::write(shared.path().join("note"), "seen").unwrap();
    let mut spec = spec("a");
    spec.environment.insert("COLOUR".to_owned(), "blue = green\nand red".to_owned());
    spec.mounts.push(Mount {
        source: shared.path().to_owned(),
        target: "/mnt/workspace".into(),
        writable: true,
    });
    let backend = root.backend();
    let made = backend.create(&spec).await.unwrap();
    let (out, _, _) =
        sh(&backend, &made.instance, "printf %s \"$COLOUR\"; cat mnt/workspace/note; pwd").await;
    let work = root.of(&made.instance).join("work");
    assert_eq!(out, format!("blue = green\nand redseen{}\n", work.display()));
    let environment = std::fs::read(format!("/proc/{}/environ", root.pid_of(&made.instance))).unwrap();
    let entries = environment.split(|byte| *byte == 0).filter_map(|entry| std::str::from_utf8(entry).ok());
    let names: Vec<&str> = entries.filter_map(|entry| Some(entry.split_once('=')?.0)).collect();
    let meant = ["PATH", "LANG", "LC_ALL", "TZ", "HOME", "COLOUR", "LEASEHOLD_INSTANCE", "LEASEHOLD_FIRST"];
    assert!(names.contains(&"COLOUR") && names.iter().all(|name| meant.contains(name)), "{names:?}");
    let kept_back = std::env::vars().filter(|(name, _)| !meant.contains(&name.as_str())).count();
    assert!(kept_back > 0, "this process has nothing that could have been kept back");
    backend.destroy(&made.instance).await.unwrap();
    assert!(shared.path().join("note").exists(), "what a link points to is not removed");
}

#[tokio::test]
async fn what_could_not_be_started_leaves_nothing() {
    let root = Root::new();
    let mut config = root.config();
    config.command = vec!["no-such-program-anywhere".to_owned()];
    let backend = leasehold_backends::process::ProcessBackend::new(config).unwrap();
    let error = backend.create(&spec("a")).await.unwrap_err();
    assert_eq!((error.kind(), error.id()), (BackendErrorKind::Invalid, Some(&id("a"))));
    assert!(error.to_string().contains("no-such-program-anywhere"), "{error}");
    assert_eq!(root.contents("x"), Vec::<String>::new());
    let mount = |target: &str| Mount { source: "/tmp".into(), target: target.into(), writable: false };
    for targets in [vec!["/a/../../b"], vec!["/"], vec!["/a", "/a/b"], vec!["/a/b", "/a"], vec!["/a", "/a"]] {
        let mut spec = spec("a");
        spec.mounts.extend(targets.iter().map(|target| mount(target)));
        let error = root.backend().create(&spec).await.unwrap_err();
        assert_eq!(error.kind(), BackendErrorKind::Invalid, "{targets:?}: {error}");
        assert_eq!(root.contents("x"), Vec::<String>::new(), "{targets:?}");
    }
}
