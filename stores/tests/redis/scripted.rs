//! A server that says what a test tells it to: what a real one says only on a bad day.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// What a scripted server does with a command.
pub(crate) enum Act {
    Say(Vec<u8>),
    /// Says so much and ends the connection.
    SayAndEnd(Vec<u8>),
    /// Keeps the connection and says nothing.
    Hang,
    /// A byte now and then: each comes long before any one read would time out.
    Drip(Vec<u8>),
}

/// A refusal, in the server's words.
pub(crate) fn refusal(words: &str) -> Act {
    Act::Say(format!("-{words}\r\n").into_bytes())
}

/// What a Redis of `version` answers to HELLO.
pub(crate) fn hello(version: &str, mode: &str) -> Act {
    let mut said = b"*4\r\n".to_vec();
    for word in ["version", version, "mode", mode] {
        said.extend(format!("${}\r\n{word}\r\n", word.len()).bytes());
    }
    Act::Say(said)
}

pub(crate) struct Scripted {
    pub(crate) port: u16,
}

impl Scripted {
    /// Answers every command as `script` says, which gets the number of the connection, its stream and the words.
    pub(crate) fn start(
        script: impl Fn(usize, &TcpStream, &[String]) -> Act + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let script = Arc::new(script);
        let accept = move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                let script = Arc::clone(&script);
                let serve = move || serve(&stream, |words| script(number, &stream, words));
                thread::Builder::new().name("scripted".to_owned()).spawn(serve).unwrap();
            }
        };
        thread::Builder::new().name("scripted".to_owned()).spawn(accept).unwrap();
        Self { port }
    }

    /// As [`start`](Self::start), for a server whose handshake goes well: only what follows is up to `script`.
    pub(crate) fn greeting(
        script: impl Fn(usize, &TcpStream, &[String]) -> Act + Send + Sync + 'static,
    ) -> Self {
        Self::start(move |number, stream, words| match words[0].as_str() {
            "HELLO" => hello("7.0.15", "standalone"),
            _ => script(number, stream, words),
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }
}

fn serve(stream: &TcpStream, script: impl Fn(&[String]) -> Act) {
    let mut reader = BufReader::new(stream);
    let mut stream = stream;
    while let Some(words) = command(&mut reader) {
        let went_well = match script(&words) {
            Act::Say(said) => stream.write_all(&said).is_ok(),
            Act::SayAndEnd(said) => {
                let _ = stream.write_all(&said);
                let _ = stream.shutdown(std::net::Shutdown::Both);
                false
            }
            Act::Hang => true,
            Act::Drip(said) => said.iter().all(|byte| {
                pause();
                stream.write_all(&[*byte]).is_ok()
            }),
        };
        if !went_well {
            return;
        }
    }
}

fn command(reader: &mut impl BufRead) -> Option<Vec<String>> {
    let mut number = |mark: char| -> Option<usize> {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        line.trim_end().strip_prefix(mark)?.parse().ok()
    };
    let count = number('*')?;
    let mut words = Vec::with_capacity(count);
    for _ in 0..count {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let mut word = vec![0; line.trim_end().strip_prefix('$')?.parse::<usize>().ok()? + 2];
        reader.read_exact(&mut word).ok()?;
        word.truncate(word.len() - 2);
        words.push(String::from_utf8_lossy(&word).into_owned());
    }
    Some(words)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a server that drips takes its time; no test counts on how much"
)]
fn pause() {
    thread::sleep(std::time::Duration::from_millis(15));
}
