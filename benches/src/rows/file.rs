//! The file store against opening the file, locking it, one read and one write in place.

use std::fs::OpenOptions;

use rustix::fs::{FlockOperation, flock};
use rustix::io::{pread, pwrite};

use super::{Hold, Row, five, open};
use crate::measure::Work;

pub(super) fn rows() -> Result<Vec<Row>, String> {
    let dir = tempfile::tempdir().map_err(|e| e.to_string())?.keep();
    let store = open(&format!("file:{}", dir.join("leases").display()))?;
    let names = ["file claim", "file take", "file renew", "file inspect", "file take + release"];
    five(names, "open + flock + pread + pwrite", Hold::AtMost(1.3), &store, || floor(&dir))
}

fn floor(dir: &std::path::Path) -> Result<Work, String> {
    let path = dir.join("floor");
    std::fs::write(&path, [7_u8; 512]).map_err(|e| e.to_string())?;
    Ok(Box::new(move |n| {
        let mut bytes = [0_u8; 512];
        for _ in 0..n {
            let file = OpenOptions::new().read(true).write(true).open(&path).expect("the floor's file opens");
            flock(&file, FlockOperation::NonBlockingLockExclusive).expect("nobody else locks it");
            pread(&file, &mut bytes[..], 0).expect("it reads");
            bytes[0] = bytes[0].wrapping_add(1);
            pwrite(&file, &bytes, 0).expect("it writes");
        }
    }))
}
