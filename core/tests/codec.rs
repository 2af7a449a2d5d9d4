//! The record's form in bytes: what goes in comes out, and nothing else comes out.

use leasehold::codec::{self, FormatError, Stamped, Standing};
use leasehold::{Boot, BootId, ErrorKind, Fence, Moment, OwnerId, Phase, Record, SandboxId};
use proptest::prelude::*;

fn id(text: &str) -> SandboxId {
    text.parse().unwrap()
}

fn sample() -> Stamped {
    Stamped {
        record: Record {
            owner: OwnerId::new("gw-3:00ff").unwrap(),
            phase: Phase::Teardown,
            fence: Fence::new(1_767_225_600_000_001),
            expires: Moment::from_nanos(3_723_000_000_456),
        },
        boot: BootId::from_bits(0x8d9c_1b2a_3f4e_4d5c_9b8a_7f6e_5d4c_3b2a),
        written: 1_767_229_200_000_000,
    }
}

/// The bytes of version 1, for ever: a reader of any later version must still understand them.
#[test]
fn version_1_looks_like_this() {
    let bytes = codec::encode(&id("sbx-1"), &sample()).unwrap();
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(
        hex,
        concat!(
            "4c484c44",
            "01",
            "01",
            "0900",
            "0140204648470600",
            "c8af17d462030000",
            "00e4b31c49470600",
            "2a3b4c5d6e7f8a9b5c4d4e3f2a1b9c8d",
            "67772d333a30306666",
            "005e0d34"
        )
    );
    assert_eq!(codec::decode(&id("sbx-1"), &bytes), Ok((sample(), bytes.len())));
}

#[test]
fn the_longest_record_is_as_long_as_said() {
    let owner = OwnerId::new(&"x".repeat(OwnerId::MAX_LEN)).unwrap();
    let stamped = Stamped { record: Record { owner, ..sample().record }, ..sample() };
    assert_eq!(codec::encode(&id("a"), &stamped).unwrap().len(), codec::MAX_LEN);
}

#[test]
fn every_flipped_bit_is_noticed() {
    let bytes = codec::encode(&id("sbx-1"), &sample()).unwrap();
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(codec::decode(&id("sbx-1"), &damaged).is_err(), "bit {bit}");
    }
}

#[test]
fn every_truncation_is_noticed() {
    let bytes = codec::encode(&id("sbx-1"), &sample()).unwrap();
    for len in 0..bytes.len() {
        assert_eq!(codec::decode(&id("sbx-1"), &bytes[..len]), Err(FormatError::Short), "{len} bytes");
    }
}

#[test]
fn another_ids_record_is_noticed() {
    let bytes = codec::encode(&id("sbx-1"), &sample()).unwrap();
    assert_eq!(codec::decode(&id("sbx-2"), &bytes), Err(FormatError::Checksum));
    assert_eq!(codec::decode(&id("SBX-1"), &bytes), Err(FormatError::Checksum));
}

#[test]
fn a_newer_version_is_named_and_not_guessed_at() {
    let mut bytes = codec::encode(&id("sbx-1"), &sample()).unwrap();
    bytes[4] = 2;
    let error = codec::decode(&id("sbx-1"), &bytes).unwrap_err();
    assert_eq!(error, FormatError::Version(2));
    let shown = error.at("/var/lib/leases/x.lease").to_string();
    assert!(shown.contains("upgrade") && shown.contains("/var/lib/leases/x.lease"), "{shown}");
}

#[test]
fn a_record_without_a_fence_has_no_form() {
    let stamped = Stamped { record: Record { fence: None, ..sample().record }, ..sample() };
    assert_eq!(codec::encode(&id("a"), &stamped), Err(FormatError::Fenceless));
}

#[test]
fn a_record_counts_in_its_own_boot_whatever_the_calendar_says() {
    for started in [0, u64::MAX] {
        let here = Boot { id: sample().boot, started };
        assert_eq!(sample().standing(here).unwrap(), Standing::Counts(sample().record));
    }
}

#[test]
fn another_boots_record_is_void_only_when_written_before_this_kernel_started() {
    let here = |started| Boot { id: BootId::from_bits(1), started };
    let void = sample().standing(here(sample().written + 1)).unwrap();
    assert_eq!(void, Standing::Void(sample().record.fence));
    for started in [0, sample().written] {
        assert_eq!(sample().standing(here(started)).unwrap_err().kind(), ErrorKind::Unsafe);
    }
}

#[test]
fn a_wild_fence_is_not_salvaged() {
    let bytes = codec::encode(&id("a"), &sample()).unwrap();
    let fence = sample().record.fence.unwrap();
    assert_eq!(codec::salvage_fence(&bytes, fence.get()), Some(fence));
    assert_eq!(codec::salvage_fence(&bytes, fence.get() - 1), None);
    assert_eq!(codec::salvage_fence(&bytes[..15], u64::MAX), None);
}

proptest! {
    #[test]
    fn what_goes_in_comes_out(
        name in "[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}", owner in "[a-z:äß#]{1,60}x", teardown: bool,
        n in 1_u64..(1 << 53), expires: u64, written: u64, boot: u128, tail in proptest::collection::vec(any::<u8>(), 0..9),
    ) {
        let phase = if teardown { Phase::Teardown } else { Phase::Held };
        let owner = OwnerId::new(&owner).unwrap();
        let record = Record { owner, phase, fence: Fence::new(n), expires: Moment::from_nanos(expires) };
        let stamped = Stamped { record, boot: BootId::from_bits(boot), written };
        let mut bytes = codec::encode(&id(&name), &stamped).unwrap();
        let len = bytes.len();
        bytes.extend(tail);
        prop_assert_eq!(codec::decode(&id(&name), &bytes), Ok((stamped, len)));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = codec::decode(&id("a"), &bytes);
        let mut like = b"LHLD\x01".to_vec();
        like.extend(bytes);
        let _ = codec::decode(&id("a"), &like);
    }
}
