//! Where a sandbox's port is published, and where it is found again.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

use bollard::models::{EndpointSettings, PortBinding, PortMap};
use leasehold::Endpoint;

use super::config::{DockerConfig, Publish};

/// One place where a port of a container is reached: an address of the engine's host and a number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Binding {
    pub(super) address: IpAddr,
    pub(super) port: u16,
}

/// What the engine is asked to publish. It chooses the number.
pub(super) fn wanted(config: &DockerConfig) -> Option<PortMap> {
    let port = config.port?;
    let address: IpAddr = match config.publish {
        Publish::Loopback => Ipv4Addr::LOCALHOST.into(),
        Publish::Address(address) => address,
        Publish::Network(_) => return None,
    };
    let binding = PortBinding { host_ip: Some(address.to_string()), host_port: Some(String::new()) };
    Some(HashMap::from([(key(port), Some(vec![binding]))]))
}

/// How the engine writes a TCP port.
pub(super) fn key(port: u16) -> String {
    format!("{port}/tcp")
}

/// The bindings of a port, as an inspection tells them. One without a number is none yet.
pub(super) fn bindings(ports: &PortMap, port: u16) -> Vec<Binding> {
    let all = ports.get(&key(port)).cloned().flatten().unwrap_or_default();
    all.iter()
        .filter_map(|binding| {
            let address = address(binding.host_ip.as_deref())?;
            let port = binding.host_port.as_ref()?.parse().ok().filter(|port| *port != 0)?;
            Some(Binding { address, port })
        })
        .collect()
}

/// An address as the engine writes it, where nothing means every address.
pub(super) fn address(text: Option<&str>) -> Option<IpAddr> {
    match text {
        None | Some("") => Some(Ipv4Addr::UNSPECIFIED.into()),
        Some(text) => text.parse().ok(),
    }
}

/// Where a sandbox with these bindings and networks is reached. Family and number come from one binding: the one that was
/// asked for, and no other.
pub(super) fn found(
    config: &DockerConfig,
    bindings: &[Binding],
    networks: &HashMap<String, EndpointSettings>,
) -> Option<Endpoint> {
    let inner = config.port?;
    let asked: IpAddr = match &config.publish {
        Publish::Loopback => Ipv4Addr::LOCALHOST.into(),
        Publish::Address(address) => *address,
        Publish::Network(name) => {
            let settings = networks.get(name)?;
            let told = [&settings.ip_address, &settings.global_ipv6_address];
            let host = told.into_iter().flatten().find(|address| address.parse::<IpAddr>().is_ok())?;
            return Some(Endpoint { host: host.clone(), port: inner });
        }
    };
    let binding = bindings.iter().find(|binding| binding.address == asked)?;
    let host = config.endpoint_host.clone().unwrap_or_else(|| asked.to_string());
    Some(Endpoint { host, port: binding.port })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(publish: Publish) -> DockerConfig {
        let mut config = DockerConfig::new("x".parse().unwrap(), "image");
        (config.port, config.publish) = (Some(80), publish);
        config
    }

    fn at(address: &str, port: u16) -> Binding {
        Binding { address: address.parse().unwrap(), port }
    }

    #[test]
    fn the_engine_chooses_the_number() {
        let map = wanted(&config(Publish::Loopback)).unwrap();
        let binding = &map["80/tcp"].as_ref().unwrap()[0];
        assert_eq!((binding.host_ip.as_deref(), binding.host_port.as_deref()), (Some("127.0.0.1"), Some("")));
        assert!(wanted(&config(Publish::Network("n".into()))).is_none());
        let mut without = config(Publish::Loopback);
        without.port = None;
        assert!(wanted(&without).is_none());
    }

    #[test]
    fn family_and_number_come_from_the_binding_that_was_asked_for() {
        let both = [at("::", 4000), at("::1", 4001), at("127.0.0.1", 4002)];
        let none = HashMap::new();
        let shown = |publish| found(&config(publish), &both, &none).map(|endpoint| endpoint.to_string());
        assert_eq!(shown(Publish::Loopback).as_deref(), Some("127.0.0.1:4002"));
        assert_eq!(shown(Publish::Address("::1".parse().unwrap())).as_deref(), Some("[::1]:4001"));
        assert_eq!(shown(Publish::Address("10.0.0.7".parse().unwrap())), None);
        let mut hosted = config(Publish::Loopback);
        hosted.endpoint_host = Some("host.docker.internal".into());
        assert_eq!(found(&hosted, &both, &none).unwrap().to_string(), "host.docker.internal:4002");
    }

    #[test]
    fn within_a_network_it_is_the_sandboxs_own_address() {
        let settings = |v4: &str, v6: &str| EndpointSettings {
            ip_address: Some(v4.to_owned()),
            global_ipv6_address: Some(v6.to_owned()),
            ..EndpointSettings::default()
        };
        let find = |settings| {
            let networks = HashMap::from([("n".to_owned(), settings)]);
            found(&config(Publish::Network("n".into())), &[], &networks).map(|endpoint| endpoint.to_string())
        };
        assert_eq!(find(settings("172.18.0.2", "")).as_deref(), Some("172.18.0.2:80"));
        assert_eq!(find(settings("", "fd00::2")).as_deref(), Some("[fd00::2]:80"));
        assert_eq!(find(settings("", "")), None);
    }

    #[test]
    fn a_binding_without_a_number_is_none_yet() {
        let binding = |port: &str| PortBinding { host_ip: None, host_port: Some(port.to_owned()) };
        let ports =
            HashMap::from([("80/tcp".to_owned(), Some(vec![binding(""), binding("0"), binding("7")]))]);
        assert_eq!(bindings(&ports, 80), [at("0.0.0.0", 7)]);
        assert_eq!(bindings(&ports, 81), []);
    }
}
