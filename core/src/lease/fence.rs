use std::error::Error;
use std::fmt;

/// A number that is larger for every new tenure of a sandbox, so that tenures can be put in order, also those of one
/// owner.
///
/// Between 1 and 2^53 − 1: a double, which is all that Redis' Lua and JSON have, carries it exactly.
///
/// ```
/// use leasehold::Fence;
///
/// let fence = Fence::new(41).expect("in range");
/// assert!(fence < Fence::new(42).expect("in range"));
/// assert_eq!(Fence::new(0), None);
/// assert_eq!(Fence::new(1 << 53), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(u64);

impl Fence {
    /// The smallest fence.
    pub const MIN: Self = Self(1);
    /// The largest fence: 2^53 − 1. Seeded from microseconds since 1970, it is reached in the year 2255.
    pub const MAX: Self = Self((1 << 53) - 1);

    /// The fence `value`, if it is in range.
    #[must_use]
    pub const fn new(value: u64) -> Option<Self> {
        if value >= Self::MIN.0 && value <= Self::MAX.0 { Some(Self(value)) } else { None }
    }

    /// The fence as a number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The fence of a tenure that follows one with fence `before` in a store whose new fences start at `floor`: the
    /// larger of `before` + 1 and `floor`.
    ///
    /// # Errors
    /// [`FenceExhausted`] when that is beyond [`Fence::MAX`], which only a record or a clock that is wrong brings about.
    pub fn following(before: Option<Self>, floor: u64) -> Result<Self, FenceExhausted> {
        let next = before.map_or(Self::MIN.0, |fence| fence.0 + 1).max(floor);
        Self::new(next).ok_or(FenceExhausted)
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fence({})", self.0)
    }
}

/// There is no larger fence for this sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FenceExhausted;

impl fmt::Display for FenceExhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no fence below 2^53 is left; the record or the clock that seeds fences is wrong")
    }
}

impl Error for FenceExhausted {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_larger_of_predecessor_and_floor() {
        let fence = |n| Fence::new(n).unwrap();
        assert_eq!(Fence::following(None, 0), Ok(fence(1)));
        assert_eq!(Fence::following(None, 7), Ok(fence(7)));
        assert_eq!(Fence::following(Some(fence(7)), 7), Ok(fence(8)));
        assert_eq!(Fence::following(Some(fence(7)), 100), Ok(fence(100)));
        assert_eq!(Fence::following(Some(Fence::MAX), 0), Err(FenceExhausted));
        assert_eq!(Fence::following(None, u64::MAX), Err(FenceExhausted));
    }
}
