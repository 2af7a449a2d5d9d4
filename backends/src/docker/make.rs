//! What the engine is told to make of a sandbox's spec: the safe defaults stand here.

use std::collections::{BTreeMap, HashMap};

use bollard::models::{
    ContainerCreateBody, HostConfig, HostConfigLogConfig, Mount, MountBindOptions,
    MountBindOptionsPropagationEnum, MountTmpfsOptions, MountType, RestartPolicy, RestartPolicyNameEnum,
};
use leasehold::SandboxSpec;

use super::config::{DockerConfig, Publish};
use super::{endpoint, labels};

/// The container of a sandbox. Its mounts have been checked.
pub(super) fn container(spec: &SandboxSpec, config: &DockerConfig) -> ContainerCreateBody {
    let variables: BTreeMap<_, _> = config.environment.iter().chain(&spec.environment).collect();
    let some = |words: &[String]| (!words.is_empty()).then(|| words.to_vec());
    ContainerCreateBody {
        image: Some(config.image.clone()),
        cmd: some(&config.command),
        entrypoint: config.entrypoint.clone(),
        user: config.user.clone(),
        working_dir: config.directory.as_ref().map(|path| path.display().to_string()),
        env: Some(variables.into_iter().map(|(name, value)| format!("{name}={value}")).collect()),
        labels: Some(labels::of(spec)),
        exposed_ports: config.port.map(|port| vec![endpoint::key(port)]),
        stop_timeout: i64::try_from(config.stop_patience.as_secs()).ok(),
        host_config: Some(host(spec, config)),
        ..ContainerCreateBody::default()
    }
}

/// What the container may do and use. What is not set here is the engine's default: among it its seccomp profile, which is
/// kept, and a process-number namespace of the container's own.
fn host(spec: &SandboxSpec, config: &DockerConfig) -> HostConfig {
    let limits = config.limits;
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    HostConfig {
        privileged: Some(false),
        security_opt: Some(vec!["no-new-privileges:true".to_owned()]),
        cap_drop: Some(vec!["ALL".to_owned()]),
        cap_add: (!config.capabilities.is_empty()).then(|| config.capabilities.clone()),
        memory: Some(number(limits.memory)),
        // Memory and swap together: no swap on top.
        memory_swap: Some(number(limits.memory)),
        nano_cpus: Some(i64::from(limits.milli_cpus) * 1_000_000),
        pids_limit: Some(i64::from(limits.pids)),
        readonly_rootfs: Some(config.read_only_root),
        init: Some(config.init),
        ipc_mode: Some("private".to_owned()),
        // Whoever stopped it meant it.
        restart_policy: Some(RestartPolicy {
            name: Some(RestartPolicyNameEnum::NO),
            maximum_retry_count: None,
        }),
        // The last words of one that ended are still needed.
        auto_remove: Some(false),
        log_config: Some(HostConfigLogConfig {
            typ: Some("json-file".to_owned()),
            config: Some(HashMap::from([
                ("max-size".to_owned(), limits.log.to_string()),
                ("max-file".to_owned(), "1".to_owned()),
            ])),
        }),
        network_mode: match &config.publish {
            Publish::Network(name) if config.port.is_some() => Some(name.clone()),
            _ => config.network.clone(),
        },
        port_bindings: endpoint::wanted(config),
        mounts: Some(spec.mounts.iter().map(bind).chain(config.scratch.iter().map(scratch)).collect()),
        ..HostConfig::default()
    }
}

fn bind(mount: &leasehold::Mount) -> Mount {
    Mount {
        typ: Some(MountType::BIND),
        source: Some(mount.source.display().to_string()),
        target: Some(mount.target.display().to_string()),
        read_only: Some(!mount.writable),
        bind_options: Some(MountBindOptions {
            propagation: Some(MountBindOptionsPropagationEnum::RPRIVATE),
            ..MountBindOptions::default()
        }),
        ..Mount::default()
    }
}

fn scratch((path, bytes): (&std::path::PathBuf, &u64)) -> Mount {
    Mount {
        typ: Some(MountType::TMPFS),
        target: Some(path.display().to_string()),
        tmpfs_options: Some(MountTmpfsOptions {
            size_bytes: i64::try_from(*bytes).ok(),
            mode: Some(0o1777),
            ..MountTmpfsOptions::default()
        }),
        ..Mount::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold::{Identity, OwnerId};

    fn spec() -> SandboxSpec {
        SandboxSpec {
            id: "a".parse().unwrap(),
            identity: Identity { namespace: "x".parse().unwrap(), session: None, policy: None },
            creator: OwnerId::new("gw").unwrap(),
            mounts: [("/srv/a", false), ("/srv/b", true)]
                .map(|(path, writable)| leasehold::Mount {
                    source: path.into(),
                    target: path.into(),
                    writable,
                })
                .to_vec(),
            environment: BTreeMap::from([("A".to_owned(), "spec".to_owned())]),
        }
    }

    #[test]
    fn a_sandbox_is_given_nothing_that_was_not_asked_for() {
        let config = DockerConfig::new("x".parse().unwrap(), "image");
        let host = container(&spec(), &config).host_config.unwrap();
        assert_eq!(host.cap_drop.as_deref(), Some(&["ALL".to_owned()][..]));
        assert_eq!(host.cap_add, None);
        assert_eq!(host.security_opt.as_deref(), Some(&["no-new-privileges:true".to_owned()][..]));
        assert_eq!((host.memory, host.memory_swap), (Some(1 << 30), Some(1 << 30)));
        assert_eq!((host.nano_cpus, host.pids_limit), (Some(1_000_000_000), Some(512)));
        let read_only: Vec<_> = host.mounts.unwrap().iter().map(|mount| mount.read_only).collect();
        assert_eq!(read_only, [Some(true), Some(false)]);
    }

    #[test]
    fn the_specs_variables_come_before_those_of_all() {
        let mut config = DockerConfig::new("x".parse().unwrap(), "image");
        config.environment = [("A", "all"), ("B", "all")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        assert_eq!(container(&spec(), &config).env.unwrap(), ["A=spec", "B=all"]);
    }
}
