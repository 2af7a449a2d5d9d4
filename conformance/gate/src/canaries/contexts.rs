//! Blocking work in places where it is easily missed.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::canary::Canary;
use super::ground::{Place, Work};

const READING: &[&str] = &["openat", "open"];

pub(super) const CANARIES: &[Canary] = &[
    Canary::new("a read in a destructor", READING, || {
        let place = Place::new()?;
        let file = place.file();
        Work::new(place, move || {
            drop(ReadsWhenDropped(file));
            Ok(())
        })
    }),
    Canary::new("a read in a nested block_on", READING, || {
        let place = Place::new()?;
        let file = place.file();
        Work::new(place, move || block_on(async move { fs::read(file).map(drop) }))
    }),
    Canary::new("a read in a spawned task", READING, || {
        let place = Place::new()?;
        let file = place.file();
        Work::new(place, move || fs::read(file).map(drop))
    })
    .in_a_task(),
    Canary::new("a read right after a thread was spawned", READING, || {
        let place = Place::new()?;
        let file = place.file();
        Work::new(place, move || {
            let thread = std::thread::Builder::new().name("idle".to_owned()).spawn(|| {})?;
            let result = fs::read(file).map(drop);
            thread.join().map_err(|_| io::Error::other("the thread panicked"))?;
            result
        })
    }),
    Canary::new("a read after something was allowed", READING, || {
        let place = Place::new()?;
        let file = place.file();
        Work::new(place, move || {
            crate::allow("to see that the gate comes back", || fs::read(&file))?;
            fs::read(&file).map(drop)
        })
    }),
];

struct ReadsWhenDropped(PathBuf);

impl Drop for ReadsWhenDropped {
    fn drop(&mut self) {
        drop(fs::read(&self.0));
    }
}

/// The least executor there is, for futures that never have to wait.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
        std::thread::yield_now();
    }
}
