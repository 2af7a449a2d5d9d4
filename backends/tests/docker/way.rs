//! A socket on the way to the engine, by which a test keeps answers to itself or cuts the way off.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;

/// What becomes of those who use the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Passage {
    /// They pass.
    Open,
    /// Their connections end, and new ones too.
    Cut,
    /// They are connected, and never hear a word.
    Silent,
    /// They pass, but for the next question with these in its first line: it is passed on, and its answer is kept.
    KeepsAnswer(&'static [&'static str]),
}

/// A way to the engine of this host.
pub(crate) struct Way {
    path: PathBuf,
    passage: Arc<watch::Sender<Passage>>,
    kept: Arc<AtomicUsize>,
}

impl Way {
    /// A way with its socket in `place`. It ends with the runtime that this is called on.
    pub(crate) fn new(place: &Path, passage: Passage) -> std::io::Result<Self> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let path = place.join(format!("engine-{}.sock", NEXT.fetch_add(1, Ordering::Relaxed)));
        let listener = UnixListener::bind(&path)?;
        let way = Self { path, passage: Arc::new(watch::Sender::new(passage)), kept: Arc::default() };
        let (passage, kept) = (Arc::clone(&way.passage), Arc::clone(&way.kept));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, Arc::clone(&passage), Arc::clone(&kept)));
            }
        });
        Ok(way)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn set(&self, passage: Passage) {
        self.passage.send_replace(passage);
    }

    /// How many answers were kept.
    pub(crate) fn kept(&self) -> usize {
        self.kept.load(Ordering::SeqCst)
    }
}

async fn pass(client: UnixStream, passage: Arc<watch::Sender<Passage>>, kept: Arc<AtomicUsize>) {
    let mut now = passage.subscribe();
    let cut = now.wait_for(|passage| *passage == Passage::Cut);
    tokio::select! {
        _ = cut => {}
        () = talk(client, &passage, &kept) => {}
    }
}

async fn talk(client: UnixStream, passage: &watch::Sender<Passage>, kept: &AtomicUsize) {
    let Ok(engine) = UnixStream::connect("/var/run/docker.sock").await else { return };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_engine, mut to_engine) = engine.into_split();
    let (keeps, mut keeping) = watch::channel(false);
    let asks = async {
        let mut part = vec![0; 64 << 10];
        while let Ok(length @ 1..) = from_client.read(&mut part).await {
            if *passage.borrow() == Passage::Silent {
                continue;
            }
            let asked =
                String::from_utf8_lossy(&part[..length]).lines().next().unwrap_or_default().to_owned();
            let is_kept = passage.send_if_modified(|passage| {
                let kept =
                    matches!(passage, Passage::KeepsAnswer(words) if words.iter().all(|w| asked.contains(w)));
                if kept {
                    *passage = Passage::Open;
                }
                kept
            });
            if is_kept {
                keeps.send_replace(true);
            }
            if to_engine.write_all(&part[..length]).await.is_err() {
                return;
            }
        }
        let _ = to_engine.shutdown().await;
        // What the engine still says is passed on to its end.
        std::future::pending::<()>().await;
    };
    let answers = async {
        let kept_at = copy(&mut from_engine, &mut to_client, &mut keeping).await;
        if kept_at {
            // The engine has done as it was told, and nobody hears of it.
            kept.fetch_add(1, Ordering::SeqCst);
        }
    };
    tokio::select! {
        () = asks => {}
        () = answers => {}
    }
}

/// Copies until the end, or until something comes that is to be kept; says which.
async fn copy(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    keeping: &mut watch::Receiver<bool>,
) -> bool {
    let mut part = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut part).await {
        if *keeping.borrow() {
            return true;
        }
        if to.write_all(&part[..length]).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
    false
}
