use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use leasehold::Deadline;
use rustix::net::sockopt;
use rustix::net::{AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType};

/// A socket on which every read and write waits for no longer than what is left of one deadline.
///
/// The driver's own connections take a timeout for each read, and there are many in a handshake and in a long reply: one
/// that drips would take any time at all.
#[derive(Debug)]
pub(super) struct Wire {
    socket: Socket,
    deadline: Deadline,
    /// The timeouts that the socket has now, for reading and for writing.
    timeouts: (Duration, Duration),
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Wire {
    /// The shortest wait for a socket, and so how late one may come back.
    const SHORTEST: Duration = Duration::from_millis(1);

    /// When nothing has been heard from a peer for so long, the kernel asks whether it is still there, and gives it up
    /// after three questions: so a connection that a firewall forgot is found dead before it is used.
    const KEEPALIVE: Duration = Duration::from_secs(15);
    const KEEPALIVE_BETWEEN: Duration = Duration::from_secs(5);
    const KEEPALIVE_QUESTIONS: u32 = 3;

    fn new(socket: Socket, deadline: Deadline) -> Self {
        Self { socket, deadline, timeouts: (Duration::ZERO, Duration::ZERO) }
    }

    /// Connects to the first of `addresses` that answers. Each gets its share of what is left.
    pub(super) fn tcp(addresses: &[SocketAddr], deadline: Deadline) -> io::Result<Self> {
        let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for (i, address) in addresses.iter().enumerate() {
            let share = left(deadline)? / (addresses.len() - i) as u32;
            match TcpStream::connect_timeout(address, share.max(Duration::from_millis(1))) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    sockopt::set_socket_keepalive(&stream, true)?;
                    sockopt::set_tcp_keepidle(&stream, Self::KEEPALIVE)?;
                    sockopt::set_tcp_keepintvl(&stream, Self::KEEPALIVE_BETWEEN)?;
                    sockopt::set_tcp_keepcnt(&stream, Self::KEEPALIVE_QUESTIONS)?;
                    return Ok(Self::new(Socket::Tcp(stream), deadline));
                }
                Err(e) => failure = e,
            }
        }
        Err(failure)
    }

    /// Connects to the socket at `path`. A server that hangs with a full queue of connections would keep a plain
    /// connect waiting for ever; the timeout for sending bounds it.
    pub(super) fn unix(path: &Path, deadline: Deadline) -> io::Result<Self> {
        let address = SocketAddrUnix::new(path)?;
        let flags = SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(left(deadline)?))?;
        rustix::net::connect(&socket, &address)?;
        Ok(Self::new(Socket::Unix(UnixStream::from(socket)), deadline))
    }

    /// What follows has until `deadline`.
    pub(super) fn until(&mut self, deadline: Deadline) {
        self.deadline = deadline;
    }

    /// Whether nothing has come in since the last reply: not an end, not an error, and not a byte, which would be no
    /// answer to anything.
    pub(super) fn is_quiet(&self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let looked = rustix::net::recv(self.socket.as_fd(), &mut [0_u8; 1], flags);
        matches!(looked, Err(rustix::io::Errno::AGAIN))
    }

    /// Does `io` until it is done or the deadline has passed. A wait that ends early is begun again, so a timeout need only
    /// be shorter than what is left, and in the common case none has to be set.
    fn bounded(
        &mut self,
        which: sockopt::Timeout,
        mut io: impl FnMut(&mut Socket) -> io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            let left = left(self.deadline)?;
            let timeout = match which {
                sockopt::Timeout::Recv => &mut self.timeouts.0,
                sockopt::Timeout::Send => &mut self.timeouts.1,
            };
            if *timeout > left || *timeout < left / 8 {
                *timeout = (left / 2).max(Self::SHORTEST);
                sockopt::set_socket_timeout(self.socket.as_fd(), which, Some(*timeout))?;
            }
            match io(&mut self.socket) {
                Err(e) if matches!(e.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {}
                done => return done,
            }
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.bounded(sockopt::Timeout::Recv, |socket| match socket {
            Socket::Tcp(stream) => stream.read(buffer),
            Socket::Unix(stream) => stream.read(buffer),
        })
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bounded(sockopt::Timeout::Send, |socket| match socket {
            Socket::Tcp(stream) => stream.write(bytes),
            Socket::Unix(stream) => stream.write(bytes),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is left of `deadline`, as a timeout that a socket takes: the kernel has no zero.
fn left(deadline: Deadline) -> io::Result<Duration> {
    deadline.left().map(|left| left.max(Duration::from_micros(1))).ok_or_else(late)
}

fn late() -> io::Error {
    io::ErrorKind::TimedOut.into()
}
