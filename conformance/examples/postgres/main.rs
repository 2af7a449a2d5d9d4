//! A store of one's own whose driver is async: leases in PostgreSQL through tokio-postgres, bridged, and proved.
//!
//! `cargo run -p leasehold-conformance --features servers --example postgres` starts a server of its own and runs the kit.

mod cell;
mod harness;

leasehold_conformance::conformance_main!(harness::PostgresHarness);
