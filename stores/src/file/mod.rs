//! The file store (under construction).
