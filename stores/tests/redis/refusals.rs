//! Servers that refuse: each refusal has a kind, a way out, and no secret in it.

use leasehold::{
    ClaimOutcome, ErrorKind, Intent, OwnershipStore, ReleaseOutcome, RenewOutcome, Stage, StoreError,
};

use crate::scripted::{Scripted, hello, refusal};
use crate::support::{LONG, Space, ask, id, open, server, taken};

/// The error of each kind of operation, reads among them.
fn each(store: &dyn OwnershipStore) -> Vec<StoreError> {
    let id = id("sbx-1");
    let mut errors = vec![
        store.take(&id).unwrap_err(),
        store.claim(&id, Intent::Keep).unwrap_err(),
        store.release(&id).unwrap_err(),
        store.inspect(&id).unwrap_err(),
        store.list().unwrap_err(),
        store.discard(&id, true).unwrap_err(),
    ];
    errors.extend(store.renew_many(&[id.clone(), id]).into_iter().map(Result::unwrap_err));
    errors
}

#[test]
fn what_a_server_says_on_a_bad_day_has_its_kind_and_a_way_out() {
    for (words, kind, way_out) in [
        ("LOADING Redis is loading the dataset in memory", ErrorKind::Unavailable, "when that is done"),
        ("READONLY You can't write against a read only replica.", ErrorKind::Unavailable, "primary"),
        ("MASTERDOWN Link with MASTER is down", ErrorKind::Unavailable, "failover"),
        ("CLUSTERDOWN The cluster is down", ErrorKind::Unavailable, "cluster"),
        ("TRYAGAIN Multiple keys request during rehashing of slot", ErrorKind::Unavailable, "cluster"),
        ("BUSY Redis is busy running a script.", ErrorKind::Unavailable, "SCRIPT KILL"),
        ("NOREPLICAS Not enough good replicas to write.", ErrorKind::Unavailable, "replicas"),
        ("MISCONF Redis is configured to save RDB snapshots", ErrorKind::Unavailable, "disk"),
        ("OOM command not allowed when used memory > 'maxmemory'.", ErrorKind::Full, "maxmemory"),
        ("MOVED 3999 127.0.0.1:6381", ErrorKind::Unsupported, "single server"),
        ("CROSSSLOT Keys in request don't hash to the same slot", ErrorKind::Unsupported, "single server"),
        ("NOAUTH Authentication required.", ErrorKind::Denied, "URL"),
        ("NOPERM this user has no permissions to run the 'evalsha' command", ErrorKind::Denied, "rules"),
        ("ERR unknown command 'EVALSHA'", ErrorKind::Unsupported, "renamed"),
        ("ERR something else altogether", ErrorKind::Unavailable, "something else altogether"),
        ("NOSCRIPT No matching script. Please use EVAL.", ErrorKind::Unavailable, "NOSCRIPT"),
    ] {
        let server = Scripted::greeting(move |_, _, _| refusal(words));
        for error in each(open(&server.url(), "gw-1", LONG).unwrap().as_ref()) {
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains(way_out), "{error}");
        }
    }
}

#[test]
fn a_handshake_that_goes_wrong_has_its_kind_and_shows_no_password() {
    let password = "hunter2";
    for (words, kind) in [
        ("WRONGPASS invalid username-password pair or user is disabled.", ErrorKind::Denied),
        ("NOAUTH HELLO must be called with the client already authenticated", ErrorKind::Denied),
        (
            "ERR AUTH <password> called without any password configured for the default user.",
            ErrorKind::Denied,
        ),
        // What some servers and proxies do: quote the command.
        (
            "ERR unknown command 'HELLO', with args beginning with: '2' 'AUTH' 'gw' 'hunter2'",
            ErrorKind::Unsupported,
        ),
        ("ERR syntax error near 'AUTH gw hunter2'", ErrorKind::Unavailable),
        ("NOPROTO unsupported protocol version", ErrorKind::Unsupported),
        ("ERR max number of clients reached", ErrorKind::Full),
        ("LOADING Redis is loading the dataset in memory", ErrorKind::Unavailable),
    ] {
        let server = Scripted::start(move |_, _, _| refusal(words));
        let url = format!("redis://gw:{password}@127.0.0.1:{}/0", server.port);
        for error in each(open(&url, "gw-1", LONG).unwrap().as_ref()) {
            assert_eq!((error.kind(), error.stage()), (kind, Some(Stage::Connect)), "{words}: {error}");
            assert!(!format!("{error} {error:?}").contains(password), "{error}");
        }
    }
}

#[test]
fn servers_that_will_not_do_are_told_by_their_greeting() {
    for (version, mode, says) in [
        ("6.2.14", "standalone", "6.2.14"),
        ("7.0.15", "cluster", "Cluster"),
        ("7.0.15", "sentinel", "sentinel"),
    ] {
        let server = Scripted::start(move |_, _, _| hello(version, mode));
        let error = open(&server.url(), "gw-1", LONG).unwrap().take(&id("sbx-1")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
    let server = Scripted::start(|_, _, _| crate::scripted::Act::Say(b"+OK\r\n".to_vec()));
    let error = open(&server.url(), "gw-1", LONG).unwrap().take(&id("sbx-1")).unwrap_err();
    assert_eq!((error.kind(), error.stage()), (ErrorKind::Unavailable, Some(Stage::Connect)), "{error}");
}

#[test]
fn a_real_replica_refuses_reads_too() {
    let Some(primary) = server(&[]) else { return };
    let Some(replica) = server(&[]) else { return };
    let (at_primary, at_replica) = (Space::on(&primary), Space::on(&replica));
    taken(at_primary.open("gw-1", LONG).as_ref(), &id("sbx-1"));
    let mut raw = at_replica.raw();
    ask(&mut raw, &["REPLICAOF", "127.0.0.1", &primary.port().to_string()]);
    let store = at_replica.open("gw-1", LONG);
    for error in each(store.as_ref()) {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("replica"), "{error}");
    }
    ask(&mut raw, &["REPLICAOF", "NO", "ONE"]);
    taken(store.as_ref(), &id("sbx-1"));
}

#[test]
fn in_a_full_server_what_is_held_can_still_be_renewed_stopped_and_released() {
    let Some(server) = server(&[]) else { return };
    let space = Space::on(&server);
    let (store, held, mut raw) = (space.open("gw-1", LONG), id("held"), space.raw());
    let fence = taken(store.as_ref(), &held).fence;
    ask(&mut raw, &["CONFIG", "SET", "maxmemory", "1"]);
    for error in [
        store.take(&id("new")).unwrap_err(),
        store.claim(&id("new"), Intent::Keep).unwrap_err(),
        store.claim(&id("new"), Intent::Destroy).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Full, "{error}");
    }
    assert_eq!(store.claim(&id("new"), Intent::DestroyTenure(fence)).unwrap(), ClaimOutcome::Lapsed);
    assert!(matches!(store.renew(&held).unwrap(), RenewOutcome::Renewed(_)));
    assert_eq!(store.list().unwrap().leases.len(), 1, "nothing was added");
    let claimed = store.claim(&held, Intent::DestroyTenure(fence)).unwrap();
    let ClaimOutcome::Claimed { tenure, .. } = claimed else { panic!("{claimed:?}") };
    assert_eq!(store.release_tenure(&held, tenure.fence).unwrap(), ReleaseOutcome::Released);
}

#[test]
fn a_server_busy_with_a_script_is_unavailable() {
    let Some(server) = server(&["--busy-reply-threshold", "1"]) else { return };
    let space = Space::on(&server);
    let store = space.open("gw-1", LONG);
    taken(store.as_ref(), &id("sbx-1"));
    std::thread::scope(|scope| {
        let mut blocker = space.raw();
        scope.spawn(move || drop(blocker.ask(&["EVAL", "while true do end", "0"])));
        let mut raw = space.raw();
        while !raw.ask(&["PING"]).unwrap().text().starts_with("BUSY") {}
        let error = store.take(&id("sbx-1")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        ask(&mut raw, &["SCRIPT", "KILL"]);
    });
    taken(store.as_ref(), &id("sbx-1"));
}
