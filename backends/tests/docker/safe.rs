//! What a sandbox may, as the engine says and as is seen from within.

use bollard::models::RestartPolicyNameEnum;
use leasehold::{BackendErrorKind, Exit, Mount, SandboxBackend};

use crate::support::{run, with_yard};

#[tokio::test]
async fn a_default_sandbox_has_every_safe_default() {
    with_yard(|yard| async move {
        let backend = yard.backend();
        let made = backend.create(&yard.spec("a")).await.unwrap();
        let seen = yard.docker.inspect_container(made.instance.as_str(), None).await.unwrap();
        let host = seen.host_config.unwrap();
        assert_eq!(host.privileged, Some(false));
        assert_eq!(
            host.security_opt,
            Some(vec!["no-new-privileges:true".to_owned()]),
            "and seccomp as it is"
        );
        assert_eq!(host.cap_drop, Some(vec!["ALL".to_owned()]));
        assert_eq!(host.cap_add.unwrap_or_default(), Vec::<String>::new());
        assert_eq!(host.pids_limit, Some(512));
        assert_eq!((host.memory, host.memory_swap), (Some(1 << 30), Some(1 << 30)));
        assert_eq!(host.nano_cpus, Some(1_000_000_000));
        assert_eq!(host.readonly_rootfs, Some(false));
        assert_eq!(host.restart_policy.unwrap().name, Some(RestartPolicyNameEnum::NO));
        assert_eq!(host.ipc_mode.as_deref(), Some("private"));
        assert_eq!(host.pid_mode.as_deref().unwrap_or_default(), "");
        assert_eq!(host.auto_remove, Some(false));
        assert_eq!(host.binds.unwrap_or_default(), Vec::<String>::new());
        assert_eq!(host.devices.unwrap_or_default(), vec![]);
        let bound = host.port_bindings.unwrap()["8080/tcp"].clone().unwrap();
        assert_eq!(bound[0].host_ip.as_deref(), Some("127.0.0.1"));
        assert_eq!(seen.mounts.unwrap_or_default(), vec![]);
        // And from within.
        let (_, status, _) = run(&backend, &made.instance, "cat /proc/1/status").await;
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
            line.split_whitespace().nth(1).unwrap_or_default().to_owned()
        };
        assert_eq!(field("CapEff:"), "0000000000000000");
        assert_eq!(field("CapBnd:"), "0000000000000000");
        assert_eq!(field("NoNewPrivs:"), "1");
        assert_eq!(field("Seccomp:"), "2", "a filter");
        let (exit, _, _) = run(&backend, &made.instance, "mount -t tmpfs none /tmp").await;
        assert_ne!(exit, Exit::Code(0));
        backend.destroy(&made.instance).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn what_is_given_back_by_configuration_is_there() {
    with_yard(|yard| async move {
        let backend = yard.with(|config| {
            config.capabilities = vec!["NET_BIND_SERVICE".into()];
            config.read_only_root = true;
            config.scratch.insert("/scratch".into(), 1 << 20);
        });
        let made = backend.create(&yard.spec("a")).await.unwrap();
        let (_, status, _) = run(&backend, &made.instance, "cat /proc/1/status").await;
        assert!(status.contains("CapEff:\t0000000000000400"), "{status}");
        assert_ne!(run(&backend, &made.instance, "touch /work/x").await.0, Exit::Code(0));
        assert_eq!(run(&backend, &made.instance, "touch /scratch/x").await.0, Exit::Code(0));
        backend.destroy(&made.instance).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn mounts_are_read_only_unless_asked_for_and_below_a_root() {
    with_yard(|yard| async move {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for name in ["seen", "written"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        std::fs::write(root.join("seen/file"), "from the host\n").unwrap();
        std::os::unix::fs::symlink("/etc", root.join("out")).unwrap();
        let backend = yard.with(|config| config.mount_roots = vec![root.clone()]);
        let mut spec = yard.spec("a");
        let mount = |name: &str, writable| {
            let target = format!("/{name}").into();
            Mount { source: root.join(name), target, writable }
        };
        spec.mounts = vec![mount("seen", false), mount("written", true)];
        let made = backend.create(&spec).await.unwrap();
        assert_eq!(run(&backend, &made.instance, "cat /seen/file").await.1, "from the host\n");
        assert_ne!(run(&backend, &made.instance, "touch /seen/x").await.0, Exit::Code(0));
        assert_eq!(run(&backend, &made.instance, "echo x > /written/x").await.0, Exit::Code(0));
        assert_eq!(std::fs::read_to_string(root.join("written/x")).unwrap(), "x\n");
        let seen = yard.docker.inspect_container(made.instance.as_str(), None).await.unwrap();
        let mounts = seen.mounts.unwrap();
        assert!(mounts.iter().all(|mount| mount.typ.as_deref() == Some("bind")), "{mounts:?}");
        backend.destroy(&made.instance).await.unwrap();

        for bad in
            [mount("out", false), Mount { source: "/etc".into(), target: "/x".into(), writable: false }]
        {
            spec.mounts = vec![bad];
            assert_eq!(backend.create(&spec).await.unwrap_err().kind(), BackendErrorKind::Invalid);
        }
        // One that is below a root and does not exist is an error, not made.
        spec.mounts = vec![mount("missing", false)];
        let error = backend.create(&spec).await.unwrap_err();
        assert_eq!(error.kind(), BackendErrorKind::Invalid, "{error}");
        assert!(!root.join("missing").exists());
        assert_eq!(backend.list().await.unwrap(), Default::default());
    })
    .await;
}
