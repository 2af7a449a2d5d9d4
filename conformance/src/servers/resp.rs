use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A bare client: sends words, gives back what came. For setting up what a test needs and for playing a foreign program;
/// it shares nothing with the store under test.
pub struct RawRedis {
    stream: BufReader<Box<dyn Duplex>>,
}

/// Either kind of socket.
trait Duplex: Read + Write + Send {}

impl<S: Read + Write + Send> Duplex for S {}

/// What a Redis server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawReply {
    /// Nothing there.
    Nil,
    /// A number.
    Int(i64),
    /// A string or a status.
    Text(Vec<u8>),
    /// A list.
    List(Vec<Self>),
    /// A refusal.
    Error(String),
}

impl RawRedis {
    /// How long it waits for anything.
    const PATIENCE: Duration = Duration::from_secs(10);

    /// Connects to `address`, written `host:port`.
    ///
    /// # Errors
    /// Whatever kept it from connecting.
    pub fn connect(address: &str) -> io::Result<Self> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, format!("{address} has no address"));
        for address in address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, Self::PATIENCE) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    stream.set_read_timeout(Some(Self::PATIENCE))?;
                    stream.set_write_timeout(Some(Self::PATIENCE))?;
                    return Ok(Self { stream: BufReader::new(Box::new(stream)) });
                }
                Err(e) => last = e,
            }
        }
        Err(last)
    }

    /// Connects to the socket at `path`.
    ///
    /// # Errors
    /// Whatever kept it from connecting.
    pub fn connect_unix(path: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(Self::PATIENCE))?;
        stream.set_write_timeout(Some(Self::PATIENCE))?;
        Ok(Self { stream: BufReader::new(Box::new(stream)) })
    }

    /// Sends one command and reads its answer, a refusal included.
    ///
    /// # Errors
    /// Whatever befell the connection, and what is no answer.
    pub fn ask(&mut self, words: &[impl AsRef<[u8]>]) -> io::Result<RawReply> {
        let mut command = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            let word = word.as_ref();
            command.extend(format!("${}\r\n", word.len()).bytes());
            command.extend_from_slice(word);
            command.extend_from_slice(b"\r\n");
        }
        self.stream.get_mut().write_all(&command)?;
        self.read()
    }

    /// As [`ask`](Self::ask), a refusal being an error.
    ///
    /// # Errors
    /// As [`ask`](Self::ask), and what the server said in refusing.
    pub fn must(&mut self, words: &[impl AsRef<[u8]>]) -> io::Result<RawReply> {
        match self.ask(words)? {
            RawReply::Error(error) => Err(io::Error::other(error)),
            reply => Ok(reply),
        }
    }

    fn read(&mut self) -> io::Result<RawReply> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end();
        let garbage = || io::Error::new(io::ErrorKind::InvalidData, format!("{line:?} is no reply"));
        let (kind, rest) = line.split_at_checked(1).ok_or_else(garbage)?;
        let number = || rest.parse::<i64>().map_err(|_| garbage());
        Ok(match kind {
            "+" => RawReply::Text(rest.into()),
            "-" => RawReply::Error(rest.to_owned()),
            ":" => RawReply::Int(number()?),
            "$" | "*" if number()? < 0 => RawReply::Nil,
            "$" => {
                let mut text = vec![0; number()? as usize + 2];
                self.stream.read_exact(&mut text)?;
                text.truncate(text.len() - 2);
                RawReply::Text(text)
            }
            "*" => RawReply::List((0..number()?).map(|_| self.read()).collect::<io::Result<_>>()?),
            _ => return Err(garbage()),
        })
    }
}

impl fmt::Debug for RawRedis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawRedis").finish_non_exhaustive()
    }
}

impl RawReply {
    /// The answer as text; empty where it is a list or nothing.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Int(number) => number.to_string(),
            Self::Text(text) => String::from_utf8_lossy(text).into_owned(),
            Self::Error(error) => error.clone(),
            Self::Nil | Self::List(_) => String::new(),
        }
    }

    /// The answer as a number; `None` where it is none.
    #[must_use]
    pub fn int(&self) -> Option<i64> {
        self.text().parse().ok()
    }

    /// The items of a list; none of anything else.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { &[] }
    }
}
