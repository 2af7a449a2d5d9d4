//! Sockets that block, waits for readiness, names.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, Timespec};

use super::canary::Canary;
use super::ground::{Place, Work};

pub(super) const CANARIES: &[Canary] = &[
    Canary::new("connect", &["connect"], || {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        Work::new(listener, move || TcpStream::connect(address).map(drop))
    }),
    Canary::new("connect to a unix socket", &["connect"], || {
        let place = Place::new()?;
        let path = place.other();
        let listener = std::os::unix::net::UnixListener::bind(&path)?;
        Work::new((place, listener), move || UnixStream::connect(path).map(drop))
    }),
    Canary::new("accept", &["accept4", "accept"], || {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let peer = TcpStream::connect(listener.local_addr()?)?;
        Work::new(peer, move || listener.accept().map(drop))
    }),
    Canary::new("send", &["sendto", "write"], || {
        let (peer, mut socket) = pair()?;
        Work::new(peer, move || socket.write_all(b"text"))
    }),
    Canary::new("recv", &["recvfrom", "read"], || {
        let (mut peer, mut socket) = pair()?;
        peer.write_all(b"text")?;
        Work::new(peer, move || socket.read_exact(&mut [0; 4]))
    }),
    Canary::new("a datagram sent", &["sendto"], || {
        let peer = UdpSocket::bind("127.0.0.1:0")?;
        let address = peer.local_addr()?;
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        Work::new(peer, move || socket.send_to(b"text", address).map(drop))
    }),
    Canary::new("a datagram received", &["recvfrom"], || {
        let peer = UdpSocket::bind("127.0.0.1:0")?;
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        peer.send_to(b"text", socket.local_addr()?)?;
        Work::new(peer, move || socket.recv_from(&mut [0; 4]).map(drop))
    }),
    Canary::new("a read from a unix socket", &["recvfrom", "read"], || {
        let (mut peer, mut socket) = UnixStream::pair()?;
        peer.write_all(b"text")?;
        Work::new(peer, move || socket.read_exact(&mut [0; 4]))
    }),
    Canary::new("poll with a timeout", &["poll", "ppoll"], || {
        let (peer, socket) = UnixStream::pair()?;
        Work::new(peer, move || {
            let a_moment = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
            rustix::event::poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&a_moment))?;
            Ok(())
        })
    }),
    Canary::new("epoll with a timeout", &["epoll_wait", "epoll_pwait", "epoll_pwait2"], || {
        let poller = rustix::event::epoll::create(rustix::event::epoll::CreateFlags::CLOEXEC)
            .map_err(std::io::Error::from)?;
        Work::new((), move || {
            let a_moment = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
            let mut events = Vec::with_capacity(1);
            rustix::event::epoll::wait(
                &poller,
                rustix::buffer::spare_capacity(&mut events),
                Some(&a_moment),
            )?;
            Ok(())
        })
    }),
    Canary::new("a name looked up", &["openat", "connect", "sendto", "sendmmsg", "poll"], || {
        Work::new((), || ("localhost", 80).to_socket_addrs().map(drop))
    }),
];

/// Two ends of one connection.
fn pair() -> std::io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    let (far, _) = listener.accept()?;
    Ok((near, far))
}
