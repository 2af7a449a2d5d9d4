//! Ids, parsed once where they enter and valid for ever after.

mod invalid;
mod namespace;
mod owner;
mod sandbox;
mod session;

pub use invalid::InvalidId;
pub use namespace::Namespace;
pub use owner::OwnerId;
pub use sandbox::SandboxId;
pub use session::SessionKey;

/// An id is text in a settings file, and is checked when it is read.
#[cfg(feature = "serde")]
macro_rules! serde_as_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = String::deserialize(from)?;
                Self::new(&text).map_err(serde::de::Error::custom)
            }
        }
    };
}

#[cfg(feature = "serde")]
use serde_as_text;
