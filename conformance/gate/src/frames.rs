//! From addresses to the frames a reader wants to see.

use std::ffi::c_void;
use std::fmt;
use std::hint::black_box;
use std::path::PathBuf;

/// One function on the way to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame {
    /// Its name with its path, as in `my_crate::store::load`.
    pub function: String,
    /// The source file, when there is debug information.
    pub file: Option<PathBuf>,
    /// The line in it.
    pub line: Option<u32>,
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.function)?;
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, " ({}:{line})", file.display()),
            (Some(file), None) => write!(f, " ({})", file.display()),
            _ => Ok(()),
        }
    }
}

/// Runs gated work in a frame of its own, by whose name a backtrace knows where the gate's part of the stack begins.
#[inline(never)]
pub(crate) fn under_the_gate<R>(work: impl FnOnce() -> R) -> R {
    let result = work();
    // Something has to come after the call, or it becomes a jump and this frame is gone.
    black_box(());
    result
}

/// The frames between the gate and the call: the caller's own.
pub(crate) fn resolve(addresses: &[usize]) -> Vec<Frame> {
    let mut frames = Vec::new();
    for &address in addresses {
        backtrace::resolve(address as *mut c_void, |symbol| {
            if let Some(name) = symbol.name() {
                frames.push(Frame {
                    // The alternate form leaves out the compiler's hash.
                    function: format!("{name:#}"),
                    file: symbol.filename().map(PathBuf::from),
                    line: symbol.lineno(),
                });
            }
        });
    }
    trim(frames)
}

fn trim(mut frames: Vec<Frame>) -> Vec<Frame> {
    if let Some(gate) = frames.iter().position(|frame| frame.function.contains("under_the_gate")) {
        frames.truncate(gate);
        // What remains below are the closures by which the gate came to the future.
        while frames.last().is_some_and(is_plumbing) {
            frames.pop();
        }
    }
    match frames.iter().position(|frame| !is_plumbing(frame)) {
        Some(first) => frames.split_off(first),
        // Nothing but plumbing is better than nothing.
        None => frames,
    }
}

/// The standard library, libc and the gate itself: nobody fixes a test there.
fn is_plumbing(frame: &Frame) -> bool {
    let file = frame.file.as_deref().map(|file| file.to_string_lossy()).unwrap_or_default();
    // Where debug information is sparse, a name has no path, so the file has to tell.
    let is_std = file.contains("/library/") && (file.contains("/rustc/") || file.contains("/rustlib/"));
    let is_c = !frame.function.contains("::") && !file.ends_with(".rs");
    let bare = frame.function.trim_start_matches(['<', '&']);
    let is_std_by_name =
        ["std::", "core::", "alloc::", "__rust"].iter().any(|prefix| bare.starts_with(prefix));
    is_std || is_c || is_std_by_name || is_the_gate(bare, &file)
}

/// The files through which the gate comes to the future it polls.
fn is_the_gate(function: &str, file: &str) -> bool {
    const MODULES: [&str; 7] = ["allow", "during", "frames", "record", "scope", "settings", "strict"];
    const HERE: &str = file!();
    let directory = HERE.strip_suffix("frames.rs").unwrap_or(HERE);
    let by_name = function.strip_prefix("leasehold_gate::").and_then(|path| path.split("::").next());
    let by_file = file.rfind(directory).and_then(|at| file[at + directory.len()..].strip_suffix(".rs"));
    [by_name, by_file].into_iter().flatten().any(|module| MODULES.contains(&module))
}

/// Whether a call came through an async API for processes.
pub(crate) fn came_through_async_process(addresses: &[usize]) -> bool {
    let mut came = false;
    for &address in addresses {
        backtrace::resolve(address as *mut c_void, |symbol| {
            let name = symbol.name().map(|name| name.to_string()).unwrap_or_default();
            let file = symbol.filename().map(|file| file.to_string_lossy().into_owned()).unwrap_or_default();
            came |= is_async_process(&name, &file);
        });
        if came {
            return true;
        }
    }
    false
}

fn is_async_process(function: &str, file: &str) -> bool {
    let by_name = ["tokio::process::", "async_process::"].iter().any(|module| function.contains(module));
    // A release from the registry has its version in the path, a checkout has not.
    let of_tokio = ["/tokio-", "/tokio/"].iter().any(|package| file.contains(package));
    let by_file = of_tokio && file.contains("/src/process/") || file.contains("/async-process-");
    by_name || by_file
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(names: &[&str]) -> Vec<Frame> {
        names.iter().map(|name| Frame { function: (*name).to_owned(), file: None, line: None }).collect()
    }

    #[test]
    fn a_backtrace_begins_and_ends_with_the_callers_frames() {
        let whole = frames(&[
            "open64",
            "std::fs::File::open",
            "<std::fs::OpenOptions>::open",
            "app::load",
            "core::future::poll_fn",
            "app::serve::{{closure}}",
            "<core::pin::Pin<P> as core::future::Future>::poll",
            "leasehold_gate::strict::poll_and_drop",
            "leasehold_gate::frames::under_the_gate",
            "tokio::runtime::block_on",
        ]);
        let trimmed: Vec<_> = trim(whole).into_iter().map(|frame| frame.function).collect();
        assert_eq!(trimmed, ["app::load", "core::future::poll_fn", "app::serve::{{closure}}"]);
    }

    #[test]
    fn an_inlined_closure_is_known_by_its_file() {
        let inlined = |file: &str| Frame {
            function: "{closure#1}".to_owned(),
            file: Some(PathBuf::from(file)),
            line: Some(1),
        };
        assert!(!is_plumbing(&inlined("/home/me/app/src/lib.rs")));
        assert!(is_plumbing(&inlined("/rustc/5980/library/std/src/fs.rs")));
    }

    #[test]
    fn the_gates_own_files_are_plumbing_and_its_canaries_are_not() {
        assert!(is_the_gate("leasehold_gate::strict::poll_and_drop", ""));
        let directory = concat!("/src/", file!());
        assert!(is_the_gate("poll_and_drop", &directory.replace("frames.rs", "strict.rs")));
        assert!(!is_the_gate("act", &directory.replace("frames.rs", "canaries/strict.rs")));
        assert!(!is_the_gate("leasehold_gate::canaries::files::read", ""));
        assert!(!is_the_gate("app::strict", "/app/src/strict.rs"));
    }

    #[test]
    fn an_async_process_is_known_by_name_or_by_file() {
        assert!(is_async_process("tokio::process::Command::spawn", ""));
        assert!(is_async_process("spawn", "/home/me/.cargo/registry/src/x/tokio-1.54.1/src/process/mod.rs"));
        assert!(!is_async_process("std::process::Command::spawn", "/rustc/5980/library/std/src/process.rs"));
        assert!(!is_async_process("tokio::task::spawn_blocking", "/x/tokio-1.54.1/src/task/blocking.rs"));
    }

    #[test]
    fn a_backtrace_of_plumbing_alone_is_shown_as_it_is() {
        assert_eq!(trim(frames(&["read", "std::io::read"])).len(), 2);
    }
}
