//! The kit on the redis store, one test a case.

use leasehold_cli::harness::redis::RedisHarness;

leasehold_conformance::conformance_suite!(RedisHarness);
