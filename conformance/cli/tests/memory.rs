//! The kit on the memory store, one test a case.

use leasehold_cli::harness::memory::MemoryHarness;

leasehold_conformance::conformance_suite!(MemoryHarness);
