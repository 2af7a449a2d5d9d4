//! A server that can't answer: an error within the deadline that says where the time went, and no mix-up afterwards.

use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use leasehold::{ErrorKind, OwnershipStore, ReleaseOutcome, Stage, StoreError};

use crate::scripted::{Act, Scripted};
use crate::support::{LONG, Space, id, open, server, taken};

const RELEASED: &[u8] = b"$8\r\nreleased\r\n";
const NOT_HELD: &[u8] = b"$8\r\nnot-held\r\n";

fn hasty(server: &Scripted) -> Box<dyn OwnershipStore> {
    open(&format!("{}?deadline_ms=150", server.url()), "gw-1", LONG).unwrap()
}

fn told(error: &StoreError) -> (ErrorKind, Option<Stage>) {
    (error.kind(), error.stage())
}

#[test]
fn a_port_that_nobody_listens_on_is_unavailable_while_connecting() {
    let Some(mut server) = server(&[]) else { return };
    let store = Space::on(&server).open("gw-1", LONG);
    server.kill();
    let error = store.take(&id("sbx-1")).unwrap_err();
    assert_eq!(told(&error), (ErrorKind::Unavailable, Some(Stage::Connect)), "{error}");
    assert!(!error.may_have_happened());
}

#[test]
fn a_name_that_does_not_exist_is_unavailable_while_connecting() {
    let store = open("redis://no-such-host.invalid/0?deadline_ms=60000", "gw-1", LONG).unwrap();
    let error = store.take(&id("sbx-1")).unwrap_err();
    assert_eq!(told(&error), (ErrorKind::Unavailable, Some(Stage::Connect)), "{error}");
}

#[test]
fn a_server_that_is_suspended_times_every_operation_out_and_answers_again_afterwards() {
    let Some(server) = server(&[]) else { return };
    let space = Space::on(&server);
    let (store, id) = (space.open_with("gw-1", LONG, "&deadline_ms=300"), id("sbx-1"));
    let tenure = taken(store.as_ref(), &id);
    server.pause().unwrap();
    // On the connection there was, the operation was sent; on a new one it never gets that far.
    let mut errors = vec![store.take(&id).unwrap_err()];
    assert_eq!(told(&errors[0]), (ErrorKind::Timeout, Some(Stage::Reply)));
    errors.push(store.renew(&id).unwrap_err());
    errors.push(store.release(&id).unwrap_err());
    errors.push(store.release_tenure(&id, tenure.fence).unwrap_err());
    errors.push(store.inspect(&id).unwrap_err());
    errors.push(store.list().unwrap_err());
    errors.push(store.discard(&id, true).unwrap_err());
    errors.push(store.claim(&id, leasehold::Intent::Keep).unwrap_err());
    for error in &errors[1..] {
        assert_eq!(told(error), (ErrorKind::Timeout, Some(Stage::Connect)), "{error}");
    }
    server.resume().unwrap();
    let patient = space.open("gw-1", LONG);
    assert!(patient.inspect(&id).unwrap().unwrap().fence.unwrap() >= tenure.fence);
    assert_eq!(patient.release(&id).unwrap(), ReleaseOutcome::Released);
    assert_eq!(store.inspect(&id).unwrap(), None, "the handle that timed out works again");
}

#[test]
fn a_suspended_server_on_a_unix_socket_with_a_full_queue_does_not_hold_a_connect() {
    let Some(server) = server(&["--tcp-backlog", "1"]) else { return };
    server.pause().unwrap();
    let url = format!("redis+unix://{}?deadline_ms=100", server.socket().display());
    let store = open(&url, "gw-1", LONG).unwrap();
    let mut queued = Vec::new();
    for _ in 0..4 {
        queued.extend(spawn_connect(server.socket()));
        let error = store.take(&id("sbx-1")).unwrap_err();
        assert_eq!(told(&error), (ErrorKind::Timeout, Some(Stage::Connect)), "{error}");
    }
}

/// Fills a place of the queue, if there is one, without waiting for it.
fn spawn_connect(path: std::path::PathBuf) -> Option<std::thread::JoinHandle<()>> {
    let connect = move || drop(std::os::unix::net::UnixStream::connect(path).map(std::mem::forget));
    std::thread::Builder::new().spawn(connect).ok()
}

#[test]
fn silence_after_connecting_and_after_the_password_is_a_timeout_while_connecting() {
    for quiet_from in ["HELLO", "SELECT"] {
        let server = Scripted::start(move |_, _, words| match words[0].as_str() {
            word if word == quiet_from => Act::Hang,
            _ => crate::scripted::hello("7.2.4", "standalone"),
        });
        let url = format!("redis://:hunter2@127.0.0.1:{}/3?deadline_ms=100", server.port);
        let error = open(&url, "gw-1", LONG).unwrap().take(&id("sbx-1")).unwrap_err();
        assert_eq!(told(&error), (ErrorKind::Timeout, Some(Stage::Connect)), "{quiet_from}: {error}");
        assert!(!error.may_have_happened());
    }
}

#[test]
fn a_reply_that_drips_is_cut_off_at_the_deadline_as_a_whole() {
    // Every read of it succeeds in time; all of them together take longer than the deadline.
    let long_word = [b"$64\r\n".as_slice(), &[b'x'; 64], b"\r\n"].concat();
    let server = Scripted::greeting(move |_, _, _| Act::Drip(long_word.clone()));
    let error = hasty(&server).release(&id("sbx-1")).unwrap_err();
    assert_eq!(told(&error), (ErrorKind::Timeout, Some(Stage::Reply)), "{error}");

    let server = Scripted::start(|_, _, _| {
        let Act::Say(said) = crate::scripted::hello("7.0.15", "standalone") else { unreachable!() };
        Act::Drip(said)
    });
    let error = hasty(&server).release(&id("sbx-1")).unwrap_err();
    assert_eq!(told(&error), (ErrorKind::Timeout, Some(Stage::Connect)), "{error}");
}

#[test]
fn a_reply_cut_short_or_garbled_is_unknown_and_not_repeated() {
    for said in [&b""[..], b"*", b"$8\r\nrele", b"HTTP/1.1 400 Bad Request\r\n\r\n"] {
        let asked = std::sync::Arc::new(AtomicUsize::new(0));
        let counter = std::sync::Arc::clone(&asked);
        let server = Scripted::greeting(move |_, _, _| {
            counter.fetch_add(1, Ordering::SeqCst);
            Act::SayAndEnd(said.to_vec())
        });
        let store = open(&server.url(), "gw-1", LONG).unwrap();
        let error = store.release(&id("sbx-1")).unwrap_err();
        assert_eq!(told(&error), (ErrorKind::Unavailable, Some(Stage::Reply)), "{said:?}: {error}");
        assert!(error.may_have_happened());
        assert_eq!(asked.load(Ordering::SeqCst), 1, "what was sent is not sent again by itself");
    }
}

#[test]
fn a_late_reply_is_never_taken_for_that_of_another_call() {
    let first: Mutex<Option<TcpStream>> = Mutex::new(None);
    let server = Scripted::greeting(move |connection, stream, _| {
        let mut first = first.lock().unwrap();
        match first.as_mut() {
            None => {
                *first = Some(stream.try_clone().unwrap());
                Act::Hang
            }
            Some(late) => {
                // The answer to the first call comes when the second is asked; on the same connection it would be read
                // as the answer to the second.
                let _ = std::io::Write::write_all(late, RELEASED);
                assert_ne!(connection, 0, "the connection that owes an answer is used again");
                Act::Say(NOT_HELD.to_vec())
            }
        }
    });
    let store = open(&format!("{}?deadline_ms=1000", server.url()), "gw-1", LONG).unwrap();
    let error = store.release(&id("sbx-1")).unwrap_err();
    assert_eq!(told(&error), (ErrorKind::Timeout, Some(Stage::Reply)));
    assert_eq!(store.release(&id("sbx-2")).unwrap(), ReleaseOutcome::NotHeld);
}

#[test]
fn a_connection_on_which_something_came_unasked_is_not_used() {
    for unasked in [RELEASED, b"+O", b"*", b"$5\r\n"] {
        let asked = AtomicUsize::new(0);
        let server = Scripted::greeting(move |connection, _, _| match connection {
            0 if asked.fetch_add(1, Ordering::SeqCst) == 0 => Act::Say([NOT_HELD, unasked].concat()),
            0 => Act::Say(RELEASED.to_vec()),
            _ => Act::Say(NOT_HELD.to_vec()),
        });
        let store = open(&server.url(), "gw-1", LONG).unwrap();
        // Whether the first answer is believed depends on what came with it; that connection is not asked again.
        if let Err(error) = store.release(&id("sbx-1")) {
            assert_eq!(told(&error), (ErrorKind::Unavailable, Some(Stage::Reply)), "{error}");
        }
        for _ in 0..2 {
            assert_eq!(store.release(&id("sbx-1")).unwrap(), ReleaseOutcome::NotHeld, "{unasked:?}");
        }
    }
}
