use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use leasehold::{ErrorKind, StoreError};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::wire::Wire;
use crate::StoreUrl;
use crate::url::Settings;

/// A connection over TLS.
pub(super) type Encrypted = StreamOwned<ClientConnection, Wire>;

/// The PEM files that a URL names.
#[derive(Clone, Debug)]
pub(super) struct Files {
    ca: Option<PathBuf>,
    /// Our certificate and its key.
    ours: Option<(PathBuf, PathBuf)>,
}

impl Files {
    pub(super) fn from_settings(url: &StoreUrl, settings: &mut Settings<'_>) -> Result<Self, StoreError> {
        let mut path = |name| settings.text(name).map(PathBuf::from);
        let (ca, cert, key) = (path("ca"), path("cert"), path("key"));
        let ours = match (cert, key) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            _ => return Err(url.invalid("cert and key belong together; give both or neither")),
        };
        Ok(Self { ca, ours })
    }
}

/// How to speak TLS with one host.
pub(super) struct Tls {
    host: ServerName<'static>,
    config: Arc<ClientConfig>,
}

impl Tls {
    /// Reads the files, or the system's certificates where none are named.
    pub(super) fn new(host: &str, files: &Files) -> Result<Self, StoreError> {
        let invalid = |why: String| StoreError::new(ErrorKind::Invalid, why);
        let host = ServerName::try_from(host.to_owned())
            .map_err(|_| invalid(format!("{host:?} is not the name of a host that TLS could check")))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| StoreError::new(ErrorKind::Unsupported, "TLS can't be set up").with_source(e))?
            .with_root_certificates(roots(files.ca.as_deref())?);
        let config = match &files.ours {
            None => builder.with_no_client_auth(),
            Some((cert, key)) => {
                let chain = certificates(cert)?;
                let secret = PrivateKeyDer::from_pem_file(key)
                    .map_err(|_| invalid(format!("{} has no private key in PEM form", key.display())))?;
                builder.with_client_auth_cert(chain, secret).map_err(|e| {
                    invalid(format!("{} and {} don't fit together", cert.display(), key.display()))
                        .with_source(e)
                })?
            }
        };
        Ok(Self { host, config: Arc::new(config) })
    }

    /// TLS over `wire`. The handshake itself happens with the first bytes that are sent.
    pub(super) fn over(&self, wire: Wire) -> io::Result<Box<Encrypted>> {
        let client = ClientConnection::new(Arc::clone(&self.config), self.host.clone());
        Ok(Box::new(StreamOwned::new(client.map_err(io::Error::other)?, wire)))
    }
}

fn roots(ca: Option<&Path>) -> Result<RootCertStore, StoreError> {
    let mut roots = RootCertStore::empty();
    match ca {
        Some(path) => {
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(|e| {
                    let why = format!("{} has a certificate that can't be used", path.display());
                    StoreError::new(ErrorKind::Invalid, why).with_source(e)
                })?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        let why = "this system has no certificate authorities; name a file of them: ca=/path.pem";
        return Err(StoreError::new(ErrorKind::Invalid, why));
    }
    Ok(roots)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, StoreError> {
    let file = File::open(path).map_err(|e| {
        StoreError::new(ErrorKind::Invalid, format!("{} can't be read", path.display())).with_source(e)
    })?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_reader_iter(BufReader::new(file)).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(StoreError::new(
            ErrorKind::Invalid,
            format!("{} has no certificate in PEM form", path.display()),
        )),
    }
}
