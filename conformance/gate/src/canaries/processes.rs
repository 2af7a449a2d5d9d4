//! Processes, pipes and sleep.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::canary::Canary;
use super::ground::Work;

pub(super) const CANARIES: &[Canary] = &[
    Canary::new("sleep", &["clock_nanosleep", "nanosleep"], || {
        Work::new((), || {
            #[expect(clippy::disallowed_methods, reason = "the sleep is what has to be seen")]
            std::thread::sleep(Duration::from_millis(1));
            Ok(())
        })
    }),
    Canary::new("a child process started", &["clone3", "clone", "vfork", "fork"], || {
        Work::new((), || {
            let mut child = Command::new("true").stdin(Stdio::null()).spawn()?;
            crate::allow("only its start is looked at here", || child.wait().map(drop))
        })
    }),
    Canary::new("a child process waited for", &["wait4", "waitid"], || {
        let mut child = Command::new("true").stdin(Stdio::null()).spawn()?;
        Work::new((), move || child.wait().map(drop))
    }),
    Canary::new("a child process started and waited for", &["wait4", "waitid"], || {
        Work::new((), || Command::new("true").stdin(Stdio::null()).status().map(drop))
    }),
    Canary::new("a pipe read", &["read"], || {
        let (mut reader, mut writer) = std::io::pipe()?;
        writer.write_all(b"text")?;
        Work::new(writer, move || reader.read_exact(&mut [0; 4]))
    }),
    Canary::new("a pipe written", &["write"], || {
        let (reader, mut writer) = std::io::pipe()?;
        Work::new(reader, move || writer.write_all(b"text"))
    }),
];
