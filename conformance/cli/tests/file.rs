//! The kit on the file store, one test a case.

use leasehold_cli::harness::file::FileHarness;

leasehold_conformance::conformance_suite!(FileHarness);
