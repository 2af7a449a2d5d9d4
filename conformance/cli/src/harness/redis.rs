//! The harness of the redis store.
