use std::fmt;

/// The kernel's own name for this run of it: 128 bits, new at every start.
///
/// ```
/// use leasehold::BootId;
///
/// let id = BootId::parse("8d9c1b2a-3f4e-4d5c-9b8a-7f6e5d4c3b2a").expect("a UUID");
/// assert_eq!(id.to_string(), "8d9c1b2a-3f4e-4d5c-9b8a-7f6e5d4c3b2a");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct BootId(u128);

impl BootId {
    /// The id made of these bits.
    #[must_use]
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    /// The id as bits.
    #[must_use]
    pub const fn to_bits(self) -> u128 {
        self.0
    }

    /// Reads the form the kernel prints: 32 hex digits with dashes. `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits: String = text.trim().chars().filter(|c| *c != '-').collect();
        (digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
            .then(|| u128::from_str_radix(&digits, 16).ok().map(Self))
            .flatten()
    }
}

impl fmt::Display for BootId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let b = self.0;
        let (x4, x2) = (|at: u32| (b >> at) as u32, |at: u32| (b >> at) as u16);
        write!(f, "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", x4(96), x2(80), x2(64), x2(48), b & 0xffff_ffff_ffff)
    }
}

impl fmt::Debug for BootId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BootId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_uuid_is_a_boot_id() {
        for text in
            ["", "8d9c", "g".repeat(32).as_str(), "+8d9c1b2a3f4e4d5c9b8a7f6e5d4c3b2", "0".repeat(33).as_str()]
        {
            assert_eq!(BootId::parse(text), None, "{text}");
        }
        assert_eq!(BootId::parse(&"0".repeat(32)), Some(BootId::from_bits(0)));
    }
}
