//! The kit on the sqlite store, one test a case.

use leasehold_cli::harness::sqlite::SqliteHarness;

leasehold_conformance::conformance_suite!(SqliteHarness);
