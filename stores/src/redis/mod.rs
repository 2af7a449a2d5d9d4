//! The redis store (under construction).
