//! What a call was about, as text: a path, a file behind a descriptor, a socket's address, a time.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use super::look::Here;
use super::raw;
use crate::calls::{Arguments, Look as _, Show};
use crate::tape::Text;

/// Writes the target of a call. What can't be read is left out: the call will fail on it by itself.
pub(super) fn target(show: Show, args: &Arguments, text: &mut Text) {
    let arg = |at: u8| args[usize::from(at)];
    // Text never fails: what doesn't fit is cut.
    let _ = match show {
        Show::Nothing => Ok(()),
        Show::Path(at) => path(None, arg(at), text),
        Show::At(directory, at) => path(Some(arg(directory)), arg(at), text),
        Show::Paths(from, to) => both(None, arg(from), None, arg(to), text),
        Show::AtAt(a, from, b, to) => both(Some(arg(a)), arg(from), Some(arg(b)), arg(to), text),
        Show::Fd(at) => descriptor(arg(at), text),
        Show::Address(at, length) if arg(at) != 0 => address(arg(at), arg(length), text),
        Show::Address(..) => descriptor(arg(0), text),
        Show::Pause(at) => pause(arg(at), text),
        Show::Millis(at) => match arg(at) as i32 {
            ..0 => text.write_str("for ever"),
            millis => write!(text, "for up to {millis} ms"),
        },
        Show::Process(at) => match arg(at) as i32 {
            ..=0 => text.write_str("any child"),
            process => write!(text, "process {process}"),
        },
    };
}

type Written = std::fmt::Result;

fn both(a: Option<u64>, from: u64, b: Option<u64>, to: u64, text: &mut Text) -> Written {
    path(a, from, text)?;
    text.write_str(" to ")?;
    path(b, to, text)
}

fn path(directory: Option<u64>, address: u64, text: &mut Text) -> Written {
    let mut bytes = [0; 160];
    let length = c_string(address, &mut bytes);
    let bytes = &bytes[..length];
    if let Some(directory) = directory {
        let is_here = directory as i32 == libc::AT_FDCWD;
        if !is_here && bytes.first() != Some(&b'/') {
            descriptor(directory, text)?;
            if bytes.is_empty() {
                return Ok(());
            }
            text.write_str("/")?;
        }
    }
    text.push(bytes);
    Ok(())
}

/// Copies the string at that address and returns its length. Reads to the end of a page at a time, since the string
/// may end right before memory that isn't there.
fn c_string(address: u64, into: &mut [u8]) -> usize {
    const PAGE: u64 = 4096;
    let mut length = 0;
    while length < into.len() {
        let from = address.wrapping_add(length as u64);
        let page_left = (PAGE - from % PAGE) as usize;
        let wanted = page_left.min(into.len() - length);
        let piece = &mut into[length..length + wanted];
        let copied = raw::peek(from, piece);
        if let Some(end) = piece[..copied].iter().position(|byte| *byte == 0) {
            return length + end;
        }
        length += copied;
        if copied < wanted {
            break;
        }
    }
    length
}

fn descriptor(fd: u64, text: &mut Text) -> Written {
    let fd = fd as i32;
    let mut name = Text::default();
    write!(name, "/proc/thread-self/fd/{fd}\0")?;
    let mut link = [0_u8; 160];
    let args = [
        libc::AT_FDCWD as u64,
        name.as_bytes().as_ptr() as u64,
        link.as_mut_ptr() as u64,
        link.len() as u64,
        0,
        0,
    ];
    // SAFETY: the name ends in a zero, and the buffer is live and of the length given.
    let length = unsafe { raw::call(raw::number(libc::SYS_readlinkat), args) };
    match usize::try_from(length) {
        Ok(_) if link.starts_with(b"socket:") => socket(fd, text),
        Ok(length) => {
            text.push(&link[..length]);
            Ok(())
        }
        Err(_) => write!(text, "descriptor {fd}"),
    }
}

/// A socket by its peer's address, else by its own.
fn socket(fd: i32, text: &mut Text) -> Written {
    for (call, before) in [(libc::SYS_getpeername, "to "), (libc::SYS_getsockname, "at ")] {
        let mut bytes = [0_u8; size_of::<libc::sockaddr_storage>()];
        let mut length = bytes.len() as u32;
        let args = [fd as u64, bytes.as_mut_ptr() as u64, &raw mut length as u64, 0, 0, 0];
        // SAFETY: the buffer is live and `length` says how long it is.
        let result = unsafe { raw::call(raw::number(call), args) };
        if result == 0 {
            text.write_str("socket ")?;
            text.write_str(before)?;
            return address(bytes.as_ptr() as u64, u64::from(length), text);
        }
    }
    write!(text, "socket {fd}")
}

fn address(at: u64, length: u64, text: &mut Text) -> Written {
    let mut bytes = [0_u8; size_of::<libc::sockaddr_un>()];
    let wanted = usize::try_from(length).unwrap_or(0).min(bytes.len());
    let length = raw::peek(at, &mut bytes[..wanted]);
    let bytes = &bytes[..length];
    let Some(family) = bytes.first_chunk::<2>().map(|two| i32::from(u16::from_ne_bytes(*two))) else {
        return text.write_str("an address that can't be read");
    };
    let port = || bytes.get(2..4).map_or(0, |port| u16::from_be_bytes([port[0], port[1]]));
    match family {
        libc::AF_INET if length >= 8 => {
            let ip = Ipv4Addr::new(bytes[4], bytes[5], bytes[6], bytes[7]);
            write!(text, "{}", SocketAddr::V4(SocketAddrV4::new(ip, port())))
        }
        libc::AF_INET6 if length >= 24 => {
            let mut ip = [0; 16];
            ip.copy_from_slice(&bytes[8..24]);
            write!(text, "{}", SocketAddr::V6(SocketAddrV6::new(Ipv6Addr::from(ip), port(), 0, 0)))
        }
        libc::AF_UNIX => {
            text.write_str("unix ")?;
            match &bytes[2..] {
                [] => text.write_str("(unnamed)"),
                [0, name @ ..] => {
                    text.write_str("@")?;
                    text.push(name);
                    Ok(())
                }
                path => {
                    let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
                    text.push(&path[..end]);
                    Ok(())
                }
            }
        }
        family => write!(text, "an address of family {family}"),
    }
}

fn pause(address: u64, text: &mut Text) -> Written {
    match (Here.word(address), Here.word(address.wrapping_add(8))) {
        (Some(seconds), Some(nanos)) => {
            write!(text, "for {:?}", std::time::Duration::new(seconds, nanos.min(999_999_999) as u32))
        }
        _ => text.write_str("for ever"),
    }
}
