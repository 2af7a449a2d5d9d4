use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::thread;

use leasehold::Deadline;
use parking_lot::{Condvar, Mutex};

/// Finds the addresses of a host's name, within a deadline.
///
/// The system's resolver has no deadline that one could set and may take half a minute, so it is asked on a thread of
/// its own: one at most, whose answer goes to everyone who waits meanwhile. Nothing is remembered beyond that, since
/// after a failover the name may mean another host.
#[derive(Debug)]
pub(super) struct Resolver {
    host: String,
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    answered: Condvar,
}

#[derive(Debug, Default)]
struct State {
    asking: bool,
    /// How many answers there were so far.
    round: u64,
    /// The last answer: addresses, or why there are none. Nothing before the first.
    answer: Option<Result<Vec<SocketAddr>, String>>,
}

impl Resolver {
    pub(super) fn new(host: String, port: u16) -> Self {
        Self { host, port, shared: Arc::default() }
    }

    /// The addresses of the host. A host that is an address is that.
    pub(super) fn resolve(&self, deadline: &Deadline) -> io::Result<Vec<SocketAddr>> {
        if let Ok(address) = self.host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, self.port)]);
        }
        let mut state = self.shared.state.lock();
        // What was asked before this call may have been answered before it, so only the answer to come counts.
        let round = state.round;
        if !state.asking {
            self.ask()?;
            state.asking = true;
        }
        while state.round == round {
            let left = deadline.left().ok_or(io::ErrorKind::TimedOut)?;
            self.shared.answered.wait_for(&mut state, left);
        }
        state.answer.clone().expect("a round ends with an answer").map_err(io::Error::other)
    }

    fn ask(&self) -> io::Result<()> {
        let (host, port, shared) = (self.host.clone(), self.port, Arc::clone(&self.shared));
        let ask = move || {
            let answer = (host.as_str(), port).to_socket_addrs();
            let mut state = shared.state.lock();
            state.answer = Some(answer.map(Iterator::collect).map_err(|e| e.to_string()));
            state.asking = false;
            state.round += 1;
            shared.answered.notify_all();
        };
        thread::Builder::new().name("leasehold-resolve".to_owned()).spawn(ask).map(drop)
    }
}
