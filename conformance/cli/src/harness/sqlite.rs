//! The harness of the sqlite store.
