//! The matrix as it is committed, so that a change of what catches what is seen by whoever reviews it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::matrix::Matrix;

/// The matrix as it was when this was built.
pub const COMMITTED: &str = include_str!("matrix.txt");

/// How the committed matrix is written anew.
pub const HOW_TO_BLESS: &str = "if that is as it should be: cargo run --release -- meta --bless";

/// The lines in which `matrix` is not what is committed: with a `-` what is committed, with a `+` what was seen.
#[must_use]
pub fn differences(matrix: &Matrix) -> Vec<String> {
    compare(COMMITTED, &matrix.text())
}

fn compare(committed: &str, seen: &str) -> Vec<String> {
    if committed == seen {
        return Vec::new();
    }
    let (before, after): (BTreeSet<_>, BTreeSet<_>) = (committed.lines().collect(), seen.lines().collect());
    let gone = committed.lines().filter(|line| !after.contains(line)).map(|line| format!("- {line}"));
    let new = seen.lines().filter(|line| !before.contains(line)).map(|line| format!("+ {line}"));
    let lines: Vec<String> = gone.chain(new).collect();
    if lines.is_empty() { vec!["the same lines in another order".to_owned()] } else { lines }
}

/// Writes `matrix` to where it is committed, and says where that is.
///
/// # Errors
/// Where the repository that this was built in is not there any more, and what writing brings.
pub fn bless(matrix: &Matrix) -> io::Result<PathBuf> {
    bless_at(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/meta/matrix.txt")), matrix)
}

fn bless_at(path: &Path, matrix: &Matrix) -> io::Result<PathBuf> {
    if !path.is_file() {
        let why = format!(
            "can't bless the matrix: {} is not there; run this within the repository, by `cargo run`",
            path.display()
        );
        return Err(io::Error::new(io::ErrorKind::NotFound, why));
    }
    fs::write(path, matrix.text())?;
    Ok(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_said_line_by_line() {
        assert_eq!(compare("a\nb\n", "a\nb\n"), Vec::<String>::new());
        assert_eq!(compare("a\nb\n", "a\nc\n"), ["- b", "+ c"]);
        assert_eq!(compare("a\nb\n", "b\na\n"), ["the same lines in another order"]);
    }

    #[test]
    fn outside_the_repository_nothing_is_blessed() {
        let matrix = Matrix { rows: Vec::new(), false_alarms: Vec::new(), unproved: Vec::new() };
        let error = bless_at(Path::new("/nowhere/matrix.txt"), &matrix).unwrap_err();
        assert!(error.to_string().starts_with("can't bless the matrix: /nowhere/matrix.txt is not there"));
    }
}
