//! Users, passwords, databases, sockets; and that none of the secrets is ever shown.

use leasehold::{ErrorKind, Stage};
use leasehold_conformance::servers::RawRedis;

use crate::support::{LONG, ask, id, open, server, taken};

#[test]
fn a_password_is_asked_for_and_given() {
    let Some(server) = server(&["--requirepass", "hunter2"]) else { return };
    let at = server.address();
    for url in [
        format!("redis://{at}/0"),
        format!("redis://:wrong-secret@{at}/0"),
        format!("redis://gw:hunter2@{at}/0"),
    ] {
        let store = open(&url, "gw-1", LONG).unwrap();
        let error = store.take(&id("sbx-1")).unwrap_err();
        assert_eq!((error.kind(), error.stage()), (ErrorKind::Denied, Some(Stage::Connect)), "{error}");
        let shown = format!(
            "{error} {error:?} {store:?}",
            store = url.parse::<leasehold_stores::StoreUrl>().unwrap()
        );
        assert!(!shown.contains("hunter2") && !shown.contains("wrong-secret"), "{shown}");
    }
    taken(open(&format!("redis://:hunter2@{at}/0"), "gw-1", LONG).unwrap().as_ref(), &id("sbx-1"));
    let socket = server.socket();
    let store = open(&format!("redis+unix://{}?password=hunter2", socket.display()), "gw-2", LONG).unwrap();
    assert!(store.inspect(&id("sbx-1")).unwrap().is_some(), "the same server, by its socket");
}

#[test]
fn a_user_who_may_do_what_the_documentation_lists_can_do_everything() {
    let Some(server) = server(&[]) else { return };
    let mut raw = server.connect().unwrap();
    let rules = "on >hunter2 ~prod:lease:* ~{prod:lease:* +evalsha +eval +get +mget +set +del +unlink +pttl +pexpire +time \
        +scan";
    let words: Vec<_> =
        ["ACL", "SETUSER", "gw"].into_iter().chain(rules.split(' ').filter(|w| !w.is_empty())).collect();
    ask(&mut raw, &words);
    let url = |prefix: &str| format!("redis://gw:hunter2@{}/0?prefix={prefix}", server.address());
    let (store, id) = (open(&url("prod:lease"), "gw-1", LONG).unwrap(), id("sbx-1"));
    let fence = taken(store.as_ref(), &id).fence;
    assert!(store.renew(&id).is_ok() && store.inspect(&id).is_ok() && store.list().is_ok());
    assert!(store.claim(&id, leasehold::Intent::DestroyTenure(fence)).is_ok());
    assert!(store.release(&id).is_ok() && store.discard(&id, true).is_ok());

    let elsewhere = open(&url("other"), "gw-1", LONG).unwrap();
    for error in [elsewhere.take(&id).unwrap_err(), elsewhere.inspect(&id).unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert!(!format!("{error:?}").contains("hunter2"));
    }
    ask(&mut raw, &["ACL", "SETUSER", "gw", "-set"]);
    let error = store.take(&id).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
}

#[test]
fn each_database_is_one_of_its_own_and_one_that_is_not_there_is_refused() {
    let Some(server) = server(&["--databases", "4"]) else { return };
    let url = |db: u32| format!("redis://{}/{db}", server.address());
    taken(open(&url(0), "gw-1", LONG).unwrap().as_ref(), &id("sbx-1"));
    assert_eq!(open(&url(3), "gw-1", LONG).unwrap().inspect(&id("sbx-1")).unwrap(), None);
    let by_socket = format!("redis+unix://{}?db=0", server.socket().display());
    assert!(open(&by_socket, "gw-1", LONG).unwrap().inspect(&id("sbx-1")).unwrap().is_some());
    let error = open(&url(9), "gw-1", LONG).unwrap().inspect(&id("sbx-1")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
}

#[test]
fn a_server_with_no_connection_left_is_full() {
    let Some(server) = server(&["--maxclients", "2"]) else { return };
    let socket = server.socket();
    let _held = [RawRedis::connect_unix(&socket).unwrap(), RawRedis::connect_unix(&socket).unwrap()]
        .map(|mut client| (ask(&mut client, &["PING"]), client));
    let error = open(&server.url(), "gw-1", LONG).unwrap().take(&id("sbx-1")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Full, "{error}");
}

#[test]
fn a_socket_that_is_not_there_is_unavailable() {
    let store = open("redis+unix:///nowhere/redis.sock", "gw-1", LONG).unwrap();
    let error = store.take(&id("sbx-1")).unwrap_err();
    assert_eq!((error.kind(), error.stage()), (ErrorKind::Unavailable, Some(Stage::Connect)), "{error}");
}
