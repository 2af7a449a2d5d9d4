//! How the engine is reached.

use std::path::Path;
use std::sync::Arc;

use bollard::{API_DEFAULT_VERSION, BollardRequest, Docker};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use leasehold::{BackendError, BackendErrorKind};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use super::address::{EngineAddress, Place, Tls};
use super::error::failed;

/// What the client itself waits, in seconds: longer than any question may take, since every question has a bound of ours.
const NEVER: u64 = 24 * 3600;

/// A client for the engine. Looks whether there is a socket and reads the certificates; asks the engine nothing yet.
/// Every question has a connection of its own, so that none fails with one that a restart of the engine broke.
pub(super) fn connect(engine: &EngineAddress) -> Result<Docker, BackendError> {
    let made = match &engine.0 {
        Place::Unix(path) => Docker::connect_with_unix(&path.to_string_lossy(), NEVER, API_DEFAULT_VERSION),
        Place::Tcp { tls: None, .. } => {
            Docker::connect_with_http(&engine.to_string(), NEVER, API_DEFAULT_VERSION)
        }
        Place::Tcp { tls: Some(tls), .. } => return secure(engine, tls),
    };
    made.map_err(failed)
}

/// Over TLS with these certificates alone. The library's own way reads them again at every connection, on a thread that
/// polls, and trusts the host's authorities as well.
fn secure(engine: &EngineAddress, tls: &Tls) -> Result<Docker, BackendError> {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    let connector = hyper_rustls::HttpsConnector::from((http, Arc::new(trust(tls)?)));
    let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
    let ask = move |request: BollardRequest| {
        let answer = client.request(request);
        async move { answer.await.map_err(bollard::errors::Error::from) }
    };
    let address = engine.to_string().replacen("tcp://", "https://", 1);
    Docker::connect_with_custom_transport(ask, Some(address), NEVER, API_DEFAULT_VERSION).map_err(failed)
}

fn trust(tls: &Tls) -> Result<ClientConfig, BackendError> {
    let mut authorities = RootCertStore::empty();
    for certificate in certificates(&tls.authority)? {
        authorities.add(certificate).map_err(|e| unusable(&tls.authority, &e))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| BackendError::new(BackendErrorKind::Unsupported, e.to_string()))?
        .with_root_certificates(authorities);
    let Some((certificate, key)) = &tls.identity else { return Ok(builder.with_no_client_auth()) };
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|e| unusable(key, &e))?;
    builder.with_client_auth_cert(certificates(certificate)?, secret).map_err(|e| unusable(certificate, &e))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, BackendError> {
    let all = CertificateDer::pem_file_iter(path).map_err(|e| unusable(path, &e))?;
    let all: Vec<_> = all.collect::<Result<_, _>>().map_err(|e| unusable(path, &e))?;
    if all.is_empty() {
        return Err(unusable(path, &"there is no certificate in it"));
    }
    Ok(all)
}

fn unusable(path: &Path, why: &dyn std::fmt::Display) -> BackendError {
    let text = format!("{} can't be used for TLS: {why}", path.display());
    BackendError::new(BackendErrorKind::Invalid, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let error = connect(&EngineAddress::unix("/nowhere/engine.sock")).unwrap_err();
        assert!(error.to_string().contains("/nowhere/engine.sock"), "{error}");
        assert_eq!(error.kind(), BackendErrorKind::Unavailable);
        let engine: EngineAddress = "tcp://engine:2376".parse().unwrap();
        let tls = Tls { authority: "/nowhere/ca.pem".into(), identity: None };
        let error = connect(&engine.clone().tls(tls)).unwrap_err();
        assert!(error.to_string().contains("/nowhere/ca.pem"), "{error}");
        let empty = tempfile::NamedTempFile::new().unwrap();
        let tls = Tls { authority: empty.path().to_owned(), identity: None };
        assert!(connect(&engine.tls(tls)).unwrap_err().to_string().contains("no certificate"));
    }
}
