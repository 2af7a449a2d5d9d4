//! The file name of a sandbox id, and back.
//!
//! On a file system that ignores case, `A` and `a` would be one file. So a name has no upper-case letter at all: the id
//! in lower case, and if that lost anything a `+` and one hex digit for every four letters, each bit saying "this one
//! was upper case". `Sbx-A1` is `sbx-a1+11.lease`. The digits stop at the last upper-case letter, so that an id has one
//! name only; 128 upper-case letters make 167 bytes, well within the 255 of every file system.

use leasehold::SandboxId;

/// What the name of every record file ends in, and of nothing else that the store keeps.
pub(super) const SUFFIX: &[u8] = b".lease";
/// Between the letters and their case; no id contains it.
const CASE: u8 = b'+';

/// The length of the name of `id`.
pub(super) fn len(id: &SandboxId) -> usize {
    let text = id.as_str().as_bytes();
    let case = text.iter().rposition(u8::is_ascii_uppercase).map_or(0, |last| 1 + last / 4 + 1);
    text.len() + case + SUFFIX.len()
}

/// Writes the name of `id` to the end of `path`.
pub(super) fn push(path: &mut Vec<u8>, id: &SandboxId) {
    let text = id.as_str().as_bytes();
    let start = path.len();
    path.extend_from_slice(text);
    if let Some(last) = text.iter().rposition(u8::is_ascii_uppercase) {
        path[start..].make_ascii_lowercase();
        path.push(CASE);
        for four in text[..=last].chunks(4) {
            let bit = |(at, b): (usize, &u8)| usize::from(b.is_ascii_uppercase()) << at;
            let digit: usize = four.iter().enumerate().map(bit).sum();
            path.push(b"0123456789abcdef"[digit]);
        }
    }
    path.extend_from_slice(SUFFIX);
}

/// The id with this very file name; `None` for a name that [`push`] never writes.
pub(super) fn decode(name: &[u8]) -> Option<SandboxId> {
    let stem = name.strip_suffix(SUFFIX)?;
    let mut parts = stem.splitn(2, |b| *b == CASE);
    let mut text = parts.next()?.to_vec();
    for (four, digit) in parts.next().unwrap_or_default().iter().enumerate() {
        let digit = char::from(*digit).to_digit(16)?;
        for at in (0..4).filter(|at| digit >> at & 1 == 1) {
            text.get_mut(four * 4 + at)?.make_ascii_uppercase();
        }
    }
    let id = SandboxId::new(std::str::from_utf8(&text).ok()?).ok()?;
    let mut this = Vec::with_capacity(len(&id));
    push(&mut this, &id);
    (this == name).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(text: &str) -> SandboxId {
        text.parse().unwrap()
    }

    fn encode(id: &SandboxId) -> String {
        let mut name = b"/dir/".to_vec();
        push(&mut name, id);
        assert_eq!(name.len(), 5 + len(id));
        String::from_utf8(name).unwrap().strip_prefix("/dir/").unwrap().to_owned()
    }

    #[test]
    fn names_look_like_this_for_ever() {
        for (text, name) in [
            ("sbx-7f3a", "sbx-7f3a.lease"),
            ("Sbx-A1", "sbx-a1+11.lease"),
            ("sbx-aB", "sbx-ab+02.lease"),
            ("a.lease", "a.lease.lease"),
            ("fence-mark", "fence-mark.lease"),
        ] {
            assert_eq!(encode(&id(text)), name);
        }
        let longest = encode(&id(&"X".repeat(128)));
        assert_eq!(longest, format!("{}+{}.lease", "x".repeat(128), "f".repeat(32)));
        assert!(longest.len() <= 255);
    }

    #[test]
    fn a_name_that_no_id_has_is_nobodys() {
        for name in [
            "",
            ".lease",
            "a",
            "A.lease",
            "a+.lease",
            "a+0.lease",
            "a+2.lease",
            "a+10.lease",
            "1+1.lease",
            "a+A.lease",
            "a+1+1.lease",
            "a b.lease",
            ".a.lease",
            "ä.lease",
            "a.LEASE",
        ] {
            assert_eq!(decode(name.as_bytes()), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn every_id_has_one_name_that_fits_and_leads_back(text in "[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}") {
            let name = encode(&id(&text));
            prop_assert!(name.len() <= 255);
            prop_assert_eq!(decode(name.as_bytes()), Some(id(&text)));
        }

        #[test]
        fn ids_that_differ_have_names_that_differ_whatever_the_case(
            a in "[AaBb.1]{1,9}", b in "[AaBb.1]{1,9}"
        ) {
            let (Ok(a), Ok(b)) = (a.parse::<SandboxId>(), b.parse::<SandboxId>()) else { return Ok(()) };
            let folded = |id| encode(id).to_ascii_lowercase();
            prop_assert_eq!(a == b, folded(&a) == folded(&b));
        }

        #[test]
        fn whatever_leads_to_an_id_is_that_ids_name(name in "[a-bA-B+0-3]{1,6}\\.lease") {
            if let Some(id) = decode(name.as_bytes()) {
                prop_assert_eq!(encode(&id), name);
            }
        }
    }
}
