//! What can't be understood is an error: never "gone", never overwritten, and it hides nothing else.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use leasehold::{BackendErrorKind, Destroyed, InstanceId, SandboxBackend};
use leasehold_backends::process::ProcessBackend;

use crate::support::{Root, config, id, not_run, runs, spec};

/// What is wrong with a file, and how it came to be so.
type Damage = (&'static str, fn(&Path));

const DAMAGES: [Damage; 8] = [
    ("empty", |path| fs::write(path, "").unwrap()),
    ("cut", |path| {
        let bytes = fs::read(path).unwrap();
        fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    }),
    ("garbage", |path| fs::write(path, [0xff; 100]).unwrap()),
    ("a newer version", |path| {
        let text = fs::read_to_string(path).unwrap();
        fs::write(path, text.replacen("process 1", "process 2", 1)).unwrap();
    }),
    ("too large", |path| fs::File::options().write(true).open(path).unwrap().set_len(1 << 30).unwrap()),
    ("a link to itself as it was", |path| {
        let elsewhere = path.with_file_name("elsewhere");
        fs::rename(path, &elsewhere).unwrap();
        symlink(elsewhere, path).unwrap();
    }),
    ("a directory", |path| {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
    }),
    ("a pipe", |path| {
        fs::remove_file(path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    }),
];

#[tokio::test]
async fn a_damaged_record_is_never_gone_and_never_overwritten() {
    for (how, damage) in DAMAGES {
        let root = Root::new();
        let backend = root.backend();
        let made = backend.create(&spec("a")).await.unwrap();
        let other = backend.create(&spec("b")).await.unwrap();
        let path = root.record_of(&made.instance);
        let pid = root.pid_of(&made.instance);
        damage(&path);
        let before = (fs::symlink_metadata(&path).unwrap().file_type(), fs::read_link(&path).ok());
        for error in [
            backend.inspect(&made.instance).await.map(drop).unwrap_err(),
            backend.discover(&id("a")).await.map(drop).unwrap_err(),
            backend.create(&spec("a")).await.map(drop).unwrap_err(),
            backend.condemn(&made.instance).await.map(drop).unwrap_err(),
            backend.destroy(&made.instance).await.map(drop).unwrap_err(),
        ] {
            assert_eq!(error.kind(), BackendErrorKind::Corrupt, "{how}: {error}");
            assert!(error.to_string().contains(&path.display().to_string()), "{how}: {error}");
        }
        let listing = backend.list().await.unwrap();
        assert_eq!(listing.found, vec![other.clone()], "{how}");
        assert_eq!(listing.unreadable.len(), 1, "{how}: {listing:?}");
        let now = (fs::symlink_metadata(&path).unwrap().file_type(), fs::read_link(&path).ok());
        assert!(now == before && runs(pid), "{how}: it was changed");
    }
}

#[tokio::test]
async fn a_damaged_record_of_who_has_the_name_does_not_hide_who_was_condemned() {
    let root = Root::new();
    let backend = root.backend();
    let first = backend.create(&spec("a")).await.unwrap();
    backend.condemn(&first.instance).await.unwrap();
    let second = backend.create(&spec("a")).await.unwrap();
    fs::write(root.record_of(&second.instance), "damaged").unwrap();
    let listing = backend.list().await.unwrap();
    assert_eq!((listing.found.len(), &listing.found[0].instance), (1, &first.instance));
    assert_eq!(backend.destroy(&first.instance).await.unwrap(), Destroyed::Destroyed);
    assert_eq!(backend.list().await.unwrap().unreadable.len(), 1);
}

#[tokio::test]
async fn what_stands_among_the_sandboxes_and_is_none_is_told_and_left() {
    let root = Root::new();
    let backend = root.backend();
    let made = backend.create(&spec("a")).await.unwrap();
    let home = root.path().join("x");
    fs::write(home.join("notes.txt"), "mine").unwrap();
    symlink("/etc", home.join(format!("b-{}", "0".repeat(32)))).unwrap();
    let listing = backend.list().await.unwrap();
    assert_eq!(listing.found, vec![made]);
    let mut odd: Vec<_> = listing.unreadable.iter().map(|row| row.instance.as_str().to_owned()).collect();
    odd.sort();
    assert_eq!(odd, [format!("x/b-{}", "0".repeat(32)), "x/notes.txt".to_owned()]);
    assert!(home.join("notes.txt").exists());
}

#[tokio::test]
async fn a_link_in_the_place_of_a_sandboxs_directory_is_not_followed() {
    let root = Root::new();
    let backend = root.backend();
    let made = backend.create(&spec("a")).await.unwrap();
    let directory = root.record_of(&made.instance).parent().unwrap().to_owned();
    let elsewhere = root.path().parent().unwrap().join("elsewhere");
    fs::rename(&directory, &elsewhere).unwrap();
    symlink(&elsewhere, &directory).unwrap();
    let nonce = made.instance.as_str().rsplit_once('/').unwrap().1;
    let odd = InstanceId::new(made.instance.as_str().replace(nonce, &"0".repeat(32)));
    for error in [
        backend.inspect(&made.instance).await.map(drop).unwrap_err(),
        backend.inspect(&odd).await.map(drop).unwrap_err(),
        backend.discover(&id("a")).await.map(drop).unwrap_err(),
        backend.create(&spec("a")).await.map(drop).unwrap_err(),
        backend.destroy(&made.instance).await.map(drop).unwrap_err(),
    ] {
        assert_eq!(error.kind(), BackendErrorKind::Corrupt, "{error}");
    }
    assert!(elsewhere.join("record").exists() && runs(root.pid_of(&made.instance)));
}

#[tokio::test]
async fn a_root_that_is_not_ours_alone_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let refused = async |root: &Path| {
        let backend = ProcessBackend::new(config(root, "x")).unwrap();
        let error = backend.create(&spec("a")).await.unwrap_err();
        assert!(backend.list().await.is_err() && backend.discover(&id("a")).await.is_err());
        (error.kind(), error.to_string())
    };
    let real = place.path().join("real");
    fs::create_dir(&real).unwrap();
    symlink(&real, place.path().join("link")).unwrap();
    let (kind, text) = refused(&place.path().join("link")).await;
    assert!(kind == BackendErrorKind::Corrupt && text.contains("link"), "{text}");
    let open = place.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let (kind, text) = refused(&open).await;
    assert!(kind == BackendErrorKind::Denied && text.contains("chmod"), "{text}");
    fs::write(place.path().join("file"), "").unwrap();
    assert_eq!(refused(&place.path().join("file")).await.0, BackendErrorKind::Corrupt);
    assert_eq!(fs::read_dir(&real).unwrap().count() + fs::read_dir(&open).unwrap().count(), 0);
    let relative = ProcessBackend::new(config(Path::new("relative"), "x")).map(drop).unwrap_err();
    assert_eq!(relative.kind(), BackendErrorKind::Invalid);
}

#[tokio::test]
async fn a_root_of_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        not_run("root", "only root can make a directory of another user");
        return;
    }
    let root = Root::new();
    fs::create_dir(root.path()).unwrap();
    std::os::unix::fs::chown(root.path(), Some(12345), None).unwrap();
    let error = root.backend().create(&spec("a")).await.unwrap_err();
    assert!(error.kind() == BackendErrorKind::Denied && error.to_string().contains("12345"), "{error}");
}

#[tokio::test]
async fn of_a_root_that_was_moved_away_nobody_says_that_a_sandbox_is_gone() {
    let root = Root::new();
    let backend = root.backend();
    let made = backend.create(&spec("a")).await.unwrap();
    let aside = root.path().with_file_name("aside");
    let all_fail = async |kind: Option<BackendErrorKind>| {
        for error in [
            backend.inspect(&made.instance).await.map(drop).unwrap_err(),
            backend.discover(&id("a")).await.map(drop).unwrap_err(),
            backend.list().await.map(drop).unwrap_err(),
            backend.condemn(&made.instance).await.map(drop).unwrap_err(),
            backend.destroy(&made.instance).await.map(drop).unwrap_err(),
            backend.create(&spec("a")).await.map(drop).unwrap_err(),
        ] {
            assert!(kind.is_none_or(|kind| error.kind() == kind), "{error}");
        }
    };
    fs::rename(root.path(), &aside).unwrap();
    all_fail(None).await;
    // Another gateway that starts now makes a new one.
    root.backend().engine_id().await.unwrap();
    all_fail(Some(BackendErrorKind::Unavailable)).await;
    fs::remove_dir_all(root.path()).unwrap();
    fs::rename(&aside, root.path()).unwrap();
    assert_eq!(backend.discover(&id("a")).await.unwrap(), Some(made.clone()));
    assert_eq!(backend.destroy(&made.instance).await.unwrap(), Destroyed::Destroyed);
}

#[tokio::test]
async fn what_was_written_down_of_commands_and_cannot_be_read_keeps_the_record() {
    let root = Root::new();
    let backend = root.backend();
    let made = backend.create(&spec("a")).await.unwrap();
    let odd = root.of(&made.instance).join("commands/odd");
    fs::write(&odd, "").unwrap();
    let error = backend.destroy(&made.instance).await.unwrap_err();
    assert_eq!(error.kind(), BackendErrorKind::Corrupt, "{error}");
    fs::remove_file(odd).unwrap();
    assert_eq!(backend.destroy(&made.instance).await.unwrap(), Destroyed::Destroyed);
}
