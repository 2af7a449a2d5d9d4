use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::work::Work;

/// How long either end of a connection waits for the other.
const PATIENCE: Duration = Duration::from_secs(20);

/// Sends a byte over the loopback and waits until it comes back.
pub(super) struct SocketWork {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    echo: Option<JoinHandle<()>>,
}

impl SocketWork {
    pub(super) fn new() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let over = Arc::new(AtomicBool::new(false));
        let echo = {
            let over = Arc::clone(&over);
            let serve = move || serve(&listener, &over);
            thread::Builder::new().name("probe-echo".to_owned()).spawn(serve)?
        };
        Ok(Self { address, over, echo: Some(echo) })
    }
}

impl Work for SocketWork {
    fn work(&self) -> io::Result<()> {
        let mut stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        let mut back = [0];
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"l")?;
        stream.read_exact(&mut back)
    }
}

impl Drop for SocketWork {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Wakes the server, which then sees that it is over; where that fails it has died already.
        drop(TcpStream::connect_timeout(&self.address, PATIENCE));
        if let Some(echo) = self.echo.take() {
            // A server that panicked has said so, and nobody is left to tell.
            let _ = echo.join();
        }
    }
}

/// Serves one connection after the other; each brings one byte.
fn serve(listener: &TcpListener, over: &AtomicBool) {
    for stream in listener.incoming() {
        if over.load(Ordering::SeqCst) {
            return;
        }
        // A client that failed finds out by itself.
        let _ = stream.and_then(echo);
    }
}

fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut byte = [0];
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.read_exact(&mut byte)?;
    stream.write_all(&byte)
}
