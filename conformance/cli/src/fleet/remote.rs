use std::collections::HashMap;
use std::env;
use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leasehold::Deadline;

use super::Place;
use super::gateway::VARIABLE;

/// A gateway in a process of its own, as its parent sees it.
pub struct Remote {
    name: String,
    child: Child,
    orders: Mutex<ChildStdin>,
    asked: Arc<Mutex<Asked>>,
    seen: Mutex<Receiver<Seen>>,
}

#[derive(Default)]
struct Asked {
    next: u64,
    waiting: HashMap<u64, Sender<Result<String, String>>>,
}

/// Something a gateway told of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What happened, in a word or two: `acquired`, `lost`, `adopted`, `stopped`.
    pub what: String,
    /// To which sandbox.
    pub id: String,
    /// The rest.
    pub more: String,
}

/// A sandbox that a gateway was handed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handed {
    /// By which the gateway knows it.
    pub handle: String,
    /// Its id.
    pub id: String,
    /// Its instance.
    pub instance: String,
}

/// Why an order brought nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failed {
    /// The gateway said no, and why.
    Refused(String),
    /// The gateway is gone, or did not answer in time.
    Silent,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) => f.write_str(why),
            Self::Silent => f.write_str("no answer"),
        }
    }
}

impl std::error::Error for Failed {}

impl Remote {
    /// How long any order may take beyond its own deadline.
    pub const PATIENCE: Duration = Duration::from_secs(30);

    /// Starts a gateway, by running this program again with `arguments`; it has to call
    /// [`serve_if_asked`](super::serve_if_asked).
    ///
    /// # Errors
    /// The operating system's.
    ///
    /// # Panics
    /// When no thread is to be had.
    pub fn start(name: &str, place: &Place, arguments: &[&str]) -> io::Result<Self> {
        let timing = place.timing;
        let millis = |duration: Duration| duration.as_millis().to_string();
        let told = [
            name.to_owned(),
            place.store.clone(),
            place.dir.display().to_string(),
            millis(timing.renewal),
            millis(timing.warm),
            millis(timing.idle),
        ];
        let mut child = Command::new(env::current_exe()?)
            .args(arguments)
            .env(VARIABLE, told.join("\t"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(orders), Some(said)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("no pipes to the gateway"));
        };
        let asked: Arc<Mutex<Asked>> = Arc::default();
        let (tell, seen) = mpsc::channel();
        let answers = Arc::clone(&asked);
        std::thread::Builder::new()
            .name(format!("hear {name}"))
            .spawn(move || {
                for line in BufReader::new(said).lines().map_while(Result::ok) {
                    hear(&line, &answers, &tell);
                }
                // Whoever still waits is told by the end of their channel.
                lock(&answers).waiting.clear();
            })
            .expect("a thread");
        Ok(Self { name: name.to_owned(), child, orders: Mutex::new(orders), asked, seen: Mutex::new(seen) })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Has it acquire a session's sandbox.
    ///
    /// # Errors
    /// [`Failed`].
    pub fn acquire(&self, user: &str, thread: &str, deadline: Duration) -> Result<Handed, Failed> {
        let millis = deadline.as_millis().to_string();
        let answer = self.order(&["acquire", user, thread, &millis], deadline + Self::PATIENCE)?;
        let words: Vec<&str> = answer.split('\t').collect();
        match words[..] {
            [handle, id, instance] => {
                Ok(Handed { handle: handle.to_owned(), id: id.to_owned(), instance: instance.to_owned() })
            }
            _ => Err(Failed::Refused(format!("not an answer: {answer}"))),
        }
    }

    /// Has it run a shell script in a sandbox that it holds, and says what that printed.
    ///
    /// # Errors
    /// [`Failed`].
    pub fn exec(&self, held: &Handed, script: &str) -> Result<String, Failed> {
        self.order(&["exec", &held.handle, script], Self::PATIENCE)
    }

    /// Has it let a sandbox go.
    ///
    /// # Errors
    /// [`Failed`].
    pub fn release(&self, held: &Handed) -> Result<(), Failed> {
        self.order(&["release", &held.handle], Self::PATIENCE).map(drop)
    }

    /// Why a sandbox that it holds is lost, if it was told so.
    ///
    /// # Errors
    /// [`Failed`].
    pub fn lost(&self, held: &Handed) -> Result<Option<String>, Failed> {
        let answer = self.order(&["lost", &held.handle], Self::PATIENCE)?;
        Ok((answer != "no").then_some(answer))
    }

    /// What it tracks.
    ///
    /// # Errors
    /// [`Failed`].
    pub fn status(&self) -> Result<String, Failed> {
        self.order(&["status"], Self::PATIENCE)
    }

    /// Has it shut down, stopping what is its own or handing everything over, and waits for its end.
    ///
    /// # Errors
    /// [`Failed`], also when something was left undone.
    pub fn shut_down(mut self, stop: bool, deadline: Duration) -> Result<(), Failed> {
        let mode = if stop { "stop" } else { "hand over" };
        let millis = deadline.as_millis().to_string();
        let done = self.order(&["shutdown", mode, &millis], deadline + Self::PATIENCE);
        self.kill();
        done.map(drop)
    }

    /// Kills it with -9, as a crash would.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// The same for one that others still talk to; it is waited for when it is dropped.
    ///
    /// # Errors
    /// The operating system's.
    pub fn kill_now(&self) -> io::Result<()> {
        self.signal("-KILL")
    }

    /// Stops it in its tracks, or lets it go on.
    ///
    /// # Errors
    /// The operating system's.
    pub fn pause(&self, pause: bool) -> io::Result<()> {
        self.signal(if pause { "-STOP" } else { "-CONT" })
    }

    fn signal(&self, signal: &str) -> io::Result<()> {
        let status = Command::new("kill").args([signal, &self.child.id().to_string()]).status()?;
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("kill {signal}: {status}"))) }
    }

    /// What it told of itself since this was last asked.
    pub fn told(&self) -> Vec<Seen> {
        lock(&self.seen).try_iter().collect()
    }

    /// Waits until it tells of `what`, for `patience` at most; `each` hears of everything.
    pub fn wait_for(&self, what: &str, patience: Duration, each: &mut dyn FnMut(&Seen)) -> Option<Seen> {
        let deadline = Deadline::after(patience);
        let seen = lock(&self.seen);
        while let Some(left) = deadline.left() {
            match seen.recv_timeout(left) {
                Ok(one) => {
                    each(&one);
                    if one.what == what {
                        return Some(one);
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
        None
    }

    fn order(&self, words: &[&str], patience: Duration) -> Result<String, Failed> {
        let (answer, answered) = mpsc::channel();
        let number = {
            let mut asked = lock(&self.asked);
            asked.next += 1;
            let number = asked.next;
            asked.waiting.insert(number, answer);
            number
        };
        let said = writeln!(lock(&self.orders), "{number}\t{}", words.join("\t"));
        if said.is_err() {
            return Err(Failed::Silent);
        }
        match answered.recv_timeout(patience) {
            Ok(Ok(text)) => Ok(text),
            Ok(Err(why)) => Err(Failed::Refused(why)),
            Err(_) => Err(Failed::Silent),
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.kill();
    }
}

fn hear(line: &str, answers: &Mutex<Asked>, tell: &Sender<Seen>) {
    let words: Vec<&str> = line.splitn(4, '\t').collect();
    match words[..] {
        ["=", number, verdict, text] => {
            let waiting = number.parse().ok().and_then(|number| lock(answers).waiting.remove(&number));
            if let Some(waiting) = waiting {
                let text = text.to_owned();
                // Whoever asked may have given up.
                let _ = waiting.send(if verdict == "ok" { Ok(text) } else { Err(text) });
            }
        }
        ["!", what, ref more @ ..] => {
            let word = |at: usize| more.get(at).map_or_else(String::new, |text| (*text).to_owned());
            let _ = tell.send(Seen { what: what.to_owned(), id: word(0), more: word(1) });
        }
        // What a test harness prints of itself.
        _ => {}
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
