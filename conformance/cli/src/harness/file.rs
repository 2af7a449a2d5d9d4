//! The harness of the file store.
