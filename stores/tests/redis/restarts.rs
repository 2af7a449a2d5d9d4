//! Servers that forget scripts, drop connections, restart: the same handle goes on.

use leasehold::{ClaimOutcome, ErrorKind, Intent, OwnershipStore, ReleaseOutcome, RenewOutcome};

use crate::support::{LONG, Space, ask, id, server, taken};

/// One round of every operation, with `before` in front of each.
fn round(store: &dyn OwnershipStore, before: &mut dyn FnMut()) {
    let (a, b) = (id("a"), id("b"));
    let mut ready = || {
        before();
        store
    };
    let fence = taken(ready(), &a).fence;
    let renewed = ready().renew_many(&[a.clone(), b.clone(), a.clone()]);
    let [Ok(RenewOutcome::Renewed(first)), Ok(RenewOutcome::Lapsed), Ok(RenewOutcome::Renewed(_))] =
        &renewed[..]
    else {
        panic!("{renewed:?}")
    };
    assert_eq!(first.fence, fence);
    assert!(matches!(ready().renew(&a).unwrap(), RenewOutcome::Renewed(_)));
    assert_eq!(ready().inspect(&a).unwrap().unwrap().fence, Some(fence));
    assert_eq!(ready().list().unwrap().leases.len(), 1);
    let claimed = ready().claim(&a, Intent::DestroyTenure(fence)).unwrap();
    let ClaimOutcome::Claimed { tenure, .. } = claimed else { panic!("{claimed:?}") };
    assert_eq!(ready().release_tenure(&a, fence).unwrap(), ReleaseOutcome::NotHeld);
    assert_eq!(ready().release_tenure(&a, tenure.fence).unwrap(), ReleaseOutcome::Released);
    assert!(matches!(ready().claim(&a, Intent::Keep).unwrap(), ClaimOutcome::Claimed { .. }));
    assert!(ready().discard(&a, true).is_ok());
}

#[test]
fn scripts_that_the_server_forgot_are_sent_again_in_batches_too() {
    let Some(server) = server(&[]) else { return };
    let space = Space::on(&server);
    let (store, mut raw) = (space.open_with("gw-1", LONG, "&chunk=2"), space.raw());
    round(store.as_ref(), &mut || drop(ask(&mut raw, &["SCRIPT", "FLUSH"])));
}

#[test]
fn connections_that_the_server_closed_are_noticed_before_anything_is_sent() {
    let Some(server) = server(&[]) else { return };
    let space = Space::on(&server);
    let (store, mut raw) = (space.open("gw-1", LONG), space.raw());
    round(store.as_ref(), &mut || {
        ask(&mut raw, &["CLIENT", "KILL", "SKIPME", "yes", "TYPE", "normal"]);
    });
}

#[test]
fn a_server_that_was_restarted_is_used_again_by_the_same_handle() {
    let Some(mut server) = server(&[]) else { return };
    let store = Space::on(&server).open("gw-1", LONG);
    let before = taken(store.as_ref(), &id("sbx-1")).fence;
    server.restart_empty().unwrap();
    assert_eq!(
        store.renew(&id("sbx-1")).unwrap(),
        RenewOutcome::Lapsed,
        "it lost everything, and nobody took it"
    );
    assert!(taken(store.as_ref(), &id("sbx-1")).fence > before);
    server.save_and_stop().unwrap();
    assert_eq!(store.inspect(&id("sbx-1")).unwrap_err().kind(), ErrorKind::Unavailable);
    server.restart().unwrap();
    assert!(matches!(store.renew(&id("sbx-1")).unwrap(), RenewOutcome::Renewed(_)), "it kept everything");
    assert_eq!(store.release(&id("sbx-1")).unwrap(), ReleaseOutcome::Released);
    round(store.as_ref(), &mut || {});
}

#[test]
fn a_store_is_opened_while_its_server_is_down() {
    let Some(mut server) = server(&[]) else { return };
    server.kill();
    let store = Space::on(&server).open("gw-1", LONG);
    assert!(store.take(&id("sbx-1")).is_err());
    server.restart().unwrap();
    taken(store.as_ref(), &id("sbx-1"));
}

#[test]
fn a_closed_store_says_so_and_its_leases_stay() {
    let Some(server) = server(&[]) else { return };
    let space = Space::on(&server);
    let (store, id) = (space.open("gw-1", LONG), id("sbx-1"));
    taken(store.as_ref(), &id);
    for _ in 0..2 {
        store.close().unwrap();
    }
    let errors = [
        store.take(&id).unwrap_err(),
        store.renew(&id).unwrap_err(),
        store.inspect(&id).unwrap_err(),
        store.list().unwrap_err(),
    ];
    assert!(errors.iter().all(|error| error.kind() == ErrorKind::Closed), "{errors:?}");
    assert!(space.open("gw-2", LONG).inspect(&id).unwrap().is_some());
}

#[test]
fn many_threads_share_a_small_pool() {
    let Some(server) = server(&[]) else { return };
    let space = Space::on(&server);
    let store = space.open_with("gw-1", LONG, "&pool=2");
    std::thread::scope(|scope| {
        for n in 0..8 {
            let store = store.as_ref();
            scope.spawn(move || {
                let id = id(&format!("sbx-{n}"));
                for _ in 0..100 {
                    let fence = taken(store, &id).fence;
                    assert_eq!(store.inspect(&id).unwrap().unwrap().fence, Some(fence));
                    assert_eq!(store.release_tenure(&id, fence).unwrap(), ReleaseOutcome::Released);
                }
            });
        }
    });
    let clients = ask(&mut space.raw(), &["CLIENT", "LIST"]).text();
    let ours = clients.lines().filter(|line| line.contains("name=leasehold")).count();
    assert!(ours <= 2, "{ours} connections of a pool of 2");
}
