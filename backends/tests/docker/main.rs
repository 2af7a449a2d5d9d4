//! The Docker backend on a real engine. Without one, every test says "not run".

mod exec;
mod kit;
mod life;
mod lost;
mod names;
mod never_blocks;
mod ready;
mod safe;
mod support;
mod way;
