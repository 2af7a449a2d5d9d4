//! The same over TLS, with certificates that `openssl` makes for the test.

use std::path::{Path, PathBuf};
use std::process::Command;

use leasehold::{ErrorKind, Stage};

use crate::support::{LONG, id, open, server, taken};

/// An authority, and a certificate for `127.0.0.1` and `localhost` that it signed.
struct Certificates {
    dir: tempfile::TempDir,
}

impl Certificates {
    fn new() -> Option<Self> {
        let made = Self { dir: tempfile::tempdir().unwrap() };
        std::fs::write(made.path("ext"), "subjectAltName=IP:127.0.0.1,DNS:localhost\n").unwrap();
        let authority =
            "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test-ca -keyout ca.key -out ca.pem";
        let request = "req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout redis.key -out redis.csr";
        let sign = "x509 -req -in redis.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out redis.pem";
        for words in [authority, request, sign] {
            match Command::new("openssl").args(words.split(' ')).current_dir(made.dir.path()).output() {
                Ok(output) => assert!(output.status.success(), "{output:?}"),
                Err(e) => {
                    let required = std::env::var("LEASEHOLD_REQUIRE").unwrap_or_default();
                    assert!(!required.contains("openssl"), "not run: openssl: {e}");
                    eprintln!("not run: openssl makes the certificates and is not installed: {e}");
                    return None;
                }
            }
        }
        Some(made)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_server_whose_certificate_is_trusted_is_used_and_no_other() {
    let Some(made) = Certificates::new() else { return };
    let (ca, cert, key) = (made.path("ca.pem"), made.path("redis.pem"), made.path("redis.key"));
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let tls_port = port.to_string();
    let options = [
        "--tls-port",
        &tls_port,
        "--tls-cert-file",
        text(&cert),
        "--tls-key-file",
        text(&key),
        "--tls-ca-cert-file",
        text(&ca),
        "--requirepass",
        "hunter2",
    ];
    let Some(_server) = server(&options) else { return };
    let base = format!("rediss://:hunter2@127.0.0.1:{port}/0?deadline_ms=5000");
    let ours = format!("ca={}&cert={}&key={}", text(&ca), text(&cert), text(&key));
    let store = open(&format!("{base}&{ours}"), "gw-1", LONG).unwrap();
    for _ in 0..3 {
        taken(store.as_ref(), &id("sbx-1"));
    }
    assert_eq!(store.list().unwrap().leases.len(), 1);

    // It asks for a certificate of ours, and gets none.
    let anonymous = open(&format!("{base}&ca={}", text(&ca)), "gw-1", LONG).unwrap();
    let error = anonymous.take(&id("sbx-1")).unwrap_err();
    assert_eq!((error.kind(), error.stage()), (ErrorKind::Unavailable, Some(Stage::Connect)), "{error:?}");

    // Its certificate is by an authority that we don't trust: itself is no authority.
    let stranger = open(&format!("{base}&ca={}", text(&cert)), "gw-1", LONG).unwrap();
    let error = stranger.take(&id("sbx-1")).unwrap_err();
    assert_eq!(error.stage(), Some(Stage::Connect), "{error:?}");
    assert!(!error.may_have_happened() && !format!("{error:?}").contains("hunter2"));
}

#[test]
fn a_server_that_speaks_no_tls_is_unavailable() {
    let Some(made) = Certificates::new() else { return };
    let Some(server) = server(&[]) else { return };
    let url = format!("rediss://{}/0?deadline_ms=1000&ca={}", server.address(), text(&made.path("ca.pem")));
    let error = open(&url, "gw-1", LONG).unwrap().take(&id("sbx-1")).unwrap_err();
    assert_eq!(error.stage(), Some(Stage::Connect), "{error:?}");
}

#[test]
fn files_that_are_not_there_or_say_nothing_are_refused_when_the_store_is_opened() {
    let Some(made) = Certificates::new() else { return };
    let (ca, ext) = (made.path("ca.pem"), made.path("ext"));
    for settings in [
        "ca=/nowhere/ca.pem".to_owned(),
        format!("ca={}", text(&ext)),
        format!("ca={}&cert={}", text(&ca), text(&ca)),
        format!("ca={}&cert={}&key={}", text(&ca), text(&ca), text(&ext)),
    ] {
        let error = open(&format!("rediss://localhost/0?{settings}"), "gw-1", LONG).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{settings}: {error}");
    }
}
