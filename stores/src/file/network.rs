//! File systems on which a lock may not mean what it says, or whose records another kernel may share.

/// The name of the network file system that the kernel knows by this number; `None` for any other.
pub(super) fn name(magic: u64) -> Option<&'static str> {
    // The numbers of linux/magic.h and of the file systems' own headers. They have 32 bits.
    Some(match magic & 0xffff_ffff {
        0x6969 => "NFS",
        0xff53_4d42 | 0xfe53_4d42 | 0x517b => "SMB",
        0x0102_1997 => "9P",
        // virtiofs goes by the same number: the host's kernel, and other guests, see the same files.
        0x6573_5546 => "FUSE or virtiofs",
        0x00c3_6400 => "Ceph",
        0x0bd0_0bd0 => "Lustre",
        0x0116_1970 => "GFS2",
        0x7461_636f => "OCFS2",
        0x5346_414f | 0x6b41_4653 => "AFS",
        0x7375_7245 => "Coda",
        0x564c => "NCP",
        0x4750_4653 => "GPFS",
        0x1983_0326 => "BeeGFS",
        0x2003_0528 => "OrangeFS",
        0xaad7_aaea => "PanFS",
        0x786f_4256 => "VirtualBox shared folder",
        0xbacb_acbc => "VMware shared folder",
        0x7c7c_6673 => "Parallels shared folder",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_file_systems_are_none() {
        // ext4, xfs, btrfs, tmpfs, overlay, zfs, f2fs.
        for magic in [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630, 0x2fc1_2fc1, 0xf2f5_2010] {
            assert_eq!(name(magic), None, "{magic:x}");
        }
        // A 32-bit kernel's type is signed.
        assert_eq!(name(0xff53_4d42_u32 as i32 as u64), Some("SMB"));
    }
}
