//! Honest async work.

use std::any::Any;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket, UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};

use super::canary::{Finding, quiet};
use super::ground::Place;
use crate::Settings;

/// One kind of honest async work, which the gate must let pass.
pub struct Sanctioned {
    name: &'static str,
    prepare: fn() -> io::Result<Honest>,
}

struct Honest {
    future: Pin<Box<dyn Future<Output = io::Result<()>> + Send>>,
    /// Dropped when the gate is down.
    ground: Box<dyn Any + Send>,
}

impl Sanctioned {
    /// What it does.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Does it under the gate. [`Finding::Sound`] when the gate did not trip. Needs a tokio runtime with everything
    /// enabled around it.
    pub async fn run(&self) -> Finding {
        let Honest { future, ground } = match (self.prepare)() {
            Ok(honest) => honest,
            Err(error) => return Finding::Wrong(format!("could not be made ready: {error}")),
        };
        let (result, violations) = Settings::new().record(future).await;
        drop(ground);
        quiet(result, &violations)
    }

    const fn new(name: &'static str, prepare: fn() -> io::Result<Honest>) -> Self {
        Self { name, prepare }
    }
}

fn honest(future: impl Future<Output = io::Result<()>> + Send + 'static) -> io::Result<Honest> {
    honest_on((), future)
}

fn honest_on(
    ground: impl Any + Send,
    future: impl Future<Output = io::Result<()>> + Send + 'static,
) -> io::Result<Honest> {
    Ok(Honest { future: Box::pin(future), ground: Box::new(ground) })
}

pub(super) const ALL: &[Sanctioned] = &[
    Sanctioned::new("a timer", || {
        honest(async {
            tokio::time::sleep(Duration::from_millis(2)).await;
            let _ = tokio::time::timeout(Duration::from_millis(1), std::future::pending::<()>()).await;
            Ok(())
        })
    }),
    Sanctioned::new("a TCP round trip", || {
        honest(async {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let address = listener.local_addr()?;
            let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
            echo(near?, far?.0).await
        })
    }),
    Sanctioned::new("a UDP round trip", || {
        honest(async {
            let (near, far) = (UdpSocket::bind("127.0.0.1:0").await?, UdpSocket::bind("127.0.0.1:0").await?);
            near.send_to(b"text", far.local_addr()?).await?;
            far.recv_from(&mut [0; 4]).await.map(drop)
        })
    }),
    Sanctioned::new("a round trip over a unix socket", || {
        let place = Place::new()?;
        let path = place.other();
        // A bind makes a file, so a program does it at its start; the gate has nothing against it.
        honest_on(place, async move {
            let listener = UnixListener::bind(&path)?;
            let (near, far) = tokio::join!(UnixStream::connect(&path), listener.accept());
            echo(near?, far?.0).await
        })
    }),
    Sanctioned::new("channels", || {
        honest(async {
            let (sender, mut receiver) = mpsc::channel(1);
            let (answer, answered) = oneshot::channel();
            let task = tokio::spawn(async move {
                let got: Option<u32> = receiver.recv().await;
                answer.send(got)
            });
            sender.send(7).await.map_err(io::Error::other)?;
            let got = answered.await.map_err(io::Error::other)?;
            let _ = task.await?;
            (got == Some(7)).then_some(()).ok_or_else(|| io::Error::other("another number came"))
        })
    }),
    Sanctioned::new("an async lock, contended", || {
        honest(async {
            let lock = std::sync::Arc::new(tokio::sync::Mutex::new(()));
            let other = std::sync::Arc::clone(&lock);
            let held = lock.lock().await;
            let task = tokio::spawn(async move { drop(other.lock().await) });
            tokio::task::yield_now().await;
            drop(held);
            Ok(task.await?)
        })
    }),
    Sanctioned::new("spawn_blocking", || {
        honest(async { tokio::task::spawn_blocking(|| std::fs::read("/proc/self/stat")).await?.map(drop) })
    }),
    Sanctioned::new("tokio::fs", || {
        let place = Place::new()?;
        let (file, other) = (place.file(), place.other());
        honest_on(place, async move {
            let text = tokio::fs::read(&file).await?;
            tokio::fs::write(&other, text).await?;
            let mut open = tokio::fs::File::open(&other).await?;
            open.read_exact(&mut [0; 4]).await?;
            tokio::fs::remove_file(&other).await
        })
    }),
    Sanctioned::new("tokio::process", || {
        honest(async {
            let output = tokio::process::Command::new("echo").arg("text").output().await?;
            (output.stdout == b"text\n").then_some(()).ok_or_else(|| io::Error::other("echo said otherwise"))
        })
    }),
    Sanctioned::new("tokio::process, by a fork", || {
        // A user id to change to rules `posix_spawn` out: the child is forked, and the parent waits for its exec.
        honest(async {
            let id = rustix::process::getuid().as_raw();
            let status = tokio::process::Command::new("true").uid(id).status().await?;
            status.success().then_some(()).ok_or_else(|| io::Error::other("true said otherwise"))
        })
    }),
    Sanctioned::new("tokio::process, of a program that isn't there", || {
        honest(async {
            match tokio::process::Command::new("/no/such/program").status().await {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                other => Err(io::Error::other(format!("a program that isn't there answered {other:?}"))),
            }
        })
    }),
    Sanctioned::new("a signal", || {
        honest(async {
            use tokio::signal::unix::{SignalKind, signal};
            let mut signals = signal(SignalKind::window_change())?;
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::WINCH)?;
            signals.recv().await.ok_or_else(|| io::Error::other("the stream of signals ended"))
        })
    }),
    Sanctioned::new("a thread created", || {
        honest(async {
            let (done, is_done) = oneshot::channel();
            let thread =
                std::thread::Builder::new().name("worker".to_owned()).spawn(move || done.send(()))?;
            is_done.await.map_err(io::Error::other)?;
            let _ = thread.join();
            Ok(())
        })
    }),
    Sanctioned::new("50 MB allocated", || {
        honest(async {
            let much = std::hint::black_box(vec![1_u8; 50 << 20]);
            drop(much);
            Ok(())
        })
    }),
    Sanctioned::new("the clocks", || {
        honest(async {
            #[expect(clippy::disallowed_methods, reason = "reading the clock is what must not be reported")]
            std::hint::black_box((std::time::Instant::now(), std::time::SystemTime::now()));
            Ok(())
        })
    }),
    Sanctioned::new("random bytes", || {
        honest(async {
            let mut bytes = [0; 16];
            rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
            Ok(())
        })
    }),
    Sanctioned::new("devices that answer from memory", || {
        use std::io::{Read as _, Write as _};
        let (mut random, mut null) =
            (std::fs::File::open("/dev/urandom")?, std::fs::File::create("/dev/null")?);
        honest(async move {
            random.read_exact(&mut [0; 16])?;
            null.write_all(b"text")
        })
    }),
    Sanctioned::new("a log line on standard error", || {
        // A line of no length, which is a write like any other and leaves the terminal alone.
        honest(async { Ok(rustix::io::write(rustix::stdio::stderr(), b"").map(drop)?) })
    }),
    Sanctioned::new("a task that moves between threads", || {
        honest(async {
            let task = tokio::spawn(Settings::new().strict(async {
                for _ in 0..50 {
                    tokio::task::yield_now().await;
                }
            }));
            Ok(task.await?)
        })
    }),
    Sanctioned::new("polls of files, sockets and locks that can't wait", || {
        let place = Place::new()?;
        let lock = std::fs::File::open(place.file())?;
        honest_on(place, async move {
            lock.try_lock().map_err(io::Error::other)?;
            let socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
            socket.set_nonblocking(true)?;
            match socket.recv_from(&mut [0; 4]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
                other => Err(io::Error::other(format!("a socket nobody wrote to answered {other:?}"))),
            }
        })
    }),
];

async fn echo<S>(mut near: S, mut far: S) -> io::Result<()>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let mut text = [0; 4];
    near.write_all(b"text").await?;
    far.read_exact(&mut text).await?;
    far.write_all(&text).await?;
    near.read_exact(&mut text).await?;
    near.shutdown().await
}
