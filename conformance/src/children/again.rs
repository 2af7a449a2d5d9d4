use std::env;
use std::io;
use std::process::{Command, Stdio};

/// How this program is run again as a child of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Again {
    arguments: Vec<String>,
}

impl Again {
    /// The variable that makes a child of a program; its value is the name of the harness.
    pub(super) const VARIABLE: &'static str = "LEASEHOLD_CHILD";

    /// The program itself, which calls [`serve_if_asked`](super::serve_if_asked) before it does anything else.
    #[must_use]
    pub fn program() -> Self {
        Self { arguments: Vec::new() }
    }

    /// The test `name` of this test program, which calls [`serve_if_asked`](super::serve_if_asked). `module` is where it
    /// stands, as `module_path!()` says.
    #[must_use]
    pub fn test(module: &str, name: &str) -> Self {
        // The test harness leaves the crate's name out.
        let path = match module.split_once("::") {
            Some((_, within)) => format!("{within}::{name}"),
            None => name.to_owned(),
        };
        let options = ["--exact", "--nocapture", "--test-threads=1"].map(str::to_owned);
        Self { arguments: [path].into_iter().chain(options).collect() }
    }

    pub(super) fn command(&self, harness: &str) -> io::Result<Command> {
        let mut command = Command::new(env::current_exe()?);
        command
            .args(&self.arguments)
            .env(Self::VARIABLE, harness)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_named_as_its_harness_names_it() {
        let first = |again: Again| again.arguments[0].clone();
        assert_eq!(first(Again::test("file", "child")), "child");
        assert_eq!(first(Again::test("suite::stores::file", "child")), "stores::file::child");
    }
}
