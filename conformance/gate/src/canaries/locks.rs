//! Locks on files.

use std::fs::File;

use super::canary::Canary;
use super::ground::{Place, Work};

pub(super) const CANARIES: &[Canary] = &[
    Canary::new("flock", &["flock"], || {
        let place = Place::new()?;
        let file = File::open(place.file())?;
        Work::new(place, move || file.lock())
    }),
    Canary::new("a lock of the crate fs2", &["flock"], || {
        let place = Place::new()?;
        let file = File::open(place.file())?;
        Work::new(place, move || fs2::FileExt::lock_exclusive(&file))
    }),
    Canary::new("a wait for a lock by fcntl", &["fcntl"], || {
        let place = Place::new()?;
        let file = File::create(place.other())?;
        Work::new(place, move || {
            Ok(rustix::fs::fcntl_lock(&file, rustix::fs::FlockOperation::LockExclusive)?)
        })
    }),
];
