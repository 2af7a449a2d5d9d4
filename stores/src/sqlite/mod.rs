//! The sqlite store (under construction).
