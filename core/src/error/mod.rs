//! What went wrong in a store, in one cheap-to-clone struct.

mod kind;
mod operation;
mod store_error;

pub use kind::ErrorKind;
pub use operation::{Operation, Stage};
pub use store_error::StoreError;
