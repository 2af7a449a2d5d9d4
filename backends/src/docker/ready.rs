//! Whether a sandbox can be used yet.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::Request;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use leasehold::{
    BackendError, BackendErrorKind, Command, Condition, Deadline, Endpoint, Execution, Exit, InstanceId,
    Output, SandboxInfo,
};
use std::sync::Arc;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::config::ReadyCheck;
use super::engine::Engine;
use super::exec;

/// The first pause before another look, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(250));
/// How long an endpoint has to answer before it is asked again.
const ANSWER: Duration = Duration::from_secs(2);
/// How long a connection has to stay open to be one. The engine's own forwarder takes connections before anybody listens
/// in the sandbox, and closes them at once.
const STAY: Duration = Duration::from_millis(100);

/// Waits until the instance can be used. An engine that does not answer for a while is asked again, since that says
/// nothing of the instance.
pub(super) async fn wait(
    engine: &Arc<Engine>,
    instance: &InstanceId,
    patience: Duration,
) -> Result<SandboxInfo, BackendError> {
    let deadline = Deadline::after(patience);
    let (mut pause, longest) = PAUSES;
    let mut waited_for = Err(not_ready(patience, "no look at it was answered"));
    loop {
        let left = deadline.left().unwrap_or_default();
        match tokio::time::timeout(left, look(engine, instance)).await {
            Ok(Ok(Ok(info))) => return Ok(info),
            Ok(Ok(Err(what))) => waited_for = Err(not_ready(patience, &what)),
            Ok(Err(error)) if is_for_good(&error) => return Err(error),
            Ok(Err(error)) => waited_for = Err(error),
            Err(_) => return waited_for,
        }
        let Some(left) = deadline.left() else { return waited_for };
        tokio::time::sleep(pause.min(left)).await;
        pause = (pause * 2).min(longest);
    }
}

fn not_ready(patience: Duration, what: &str) -> BackendError {
    BackendError::new(BackendErrorKind::NotReady, format!("not ready within {patience:?}: {what}"))
}

/// Whether asking again can't help.
fn is_for_good(error: &BackendError) -> bool {
    use BackendErrorKind::{Corrupt, Denied, Exited, Foreign, Invalid, Missing, Unsupported};
    matches!(error.kind(), Exited | Missing | Foreign | Invalid | Corrupt | Denied | Unsupported)
}

/// The instance if it can be used, or what it is still waited for.
async fn look(
    engine: &Arc<Engine>,
    instance: &InstanceId,
) -> Result<Result<SandboxInfo, String>, BackendError> {
    let Some(info) = engine.sandbox(instance).await? else {
        return Err(BackendError::new(BackendErrorKind::Missing, "it was removed"));
    };
    match &info.condition {
        Condition::Running => {}
        Condition::Stopped(state) => return Ok(Err(format!("it is {state}"))),
        Condition::Ended(state) => {
            let text = format!("it is {state}{}", engine.last_words(instance).await);
            return Err(BackendError::new(BackendErrorKind::Exited, text));
        }
    }
    if engine.config.port.is_some() && info.endpoint.is_none() {
        return Ok(Err("its port is not published (yet)".to_owned()));
    }
    let asked = match (&engine.config.ready, &info.endpoint) {
        (ReadyCheck::Running, _) => Ok(()),
        (ReadyCheck::Tcp, Some(endpoint)) => in_time(takes_connections(endpoint)).await,
        (ReadyCheck::Http { path }, Some(endpoint)) => in_time(answers(endpoint, path)).await,
        (ReadyCheck::Tcp | ReadyCheck::Http { .. }, None) => Err("it has no endpoint".to_owned()),
        (ReadyCheck::Exec { command }, _) => succeeds(engine, instance, command).await?,
    };
    Ok(asked.map(|()| info))
}

async fn in_time(asked: impl Future<Output = Result<(), String>>) -> Result<(), String> {
    tokio::time::timeout(ANSWER, asked).await.unwrap_or_else(|_| Err(format!("no answer within {ANSWER:?}")))
}

async fn takes_connections(endpoint: &Endpoint) -> Result<(), String> {
    let mut stream = connect(endpoint).await?;
    match tokio::time::timeout(STAY, stream.read(&mut [0; 1])).await {
        Ok(Ok(0)) => Err(format!("{endpoint} closes connections at once")),
        Ok(Err(e)) => Err(format!("{endpoint} breaks connections: {e}")),
        Ok(Ok(_)) | Err(_) => Ok(()),
    }
}

/// Asks the endpoint itself: no proxy of the environment has any business here.
async fn answers(endpoint: &Endpoint, path: &str) -> Result<(), String> {
    let failed = |e: &dyn std::fmt::Display| format!("http://{endpoint}{path}: {e}");
    let stream = connect(endpoint).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|e| failed(&e))?;
    let request = Request::get(path)
        .header("host", endpoint.to_string())
        .header("connection", "close")
        .body(Empty::<Bytes>::new())
        .map_err(|e| failed(&e))?;
    let asked = sender.send_request(request);
    tokio::pin!(asked);
    let answer = tokio::select! {
        biased;
        answer = &mut asked => answer,
        ended = connection => {
            ended.map_err(|e| failed(&e))?;
            // The answer may have come with the connection's end.
            asked.await
        }
    };
    let answer = answer.map_err(|e| failed(&e))?;
    match answer.status().as_u16() {
        200..=399 => Ok(()),
        status => Err(failed(&format!("status {status}"))),
    }
}

async fn connect(endpoint: &Endpoint) -> Result<TcpStream, String> {
    let to = (endpoint.host.as_str(), endpoint.port);
    TcpStream::connect(to).await.map_err(|e| format!("cannot connect to {endpoint}: {e}"))
}

/// Whether a command in it ends with 0.
async fn succeeds(
    engine: &Arc<Engine>,
    instance: &InstanceId,
    words: &[String],
) -> Result<Result<(), String>, BackendError> {
    let mut command = Command::new(words.first().cloned().unwrap_or_default()).timeout(ANSWER);
    command.arguments = words.iter().skip(1).cloned().collect();
    let mut running = match exec::start(engine, instance, &command).await {
        Ok(running) => running,
        // It may have ended since it was looked at, which the next look tells.
        Err(error) if error.kind() == BackendErrorKind::Missing => return Ok(Err(error.to_string())),
        Err(error) => return Err(error),
    };
    loop {
        match running.next().await? {
            Output::Exited(Exit::Code(0)) => return Ok(Ok(())),
            Output::Exited(exit) => return Ok(Err(format!("the command ended with {exit:?}"))),
            Output::Stdout(_) | Output::Stderr(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    async fn listener() -> (TcpListener, Endpoint) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, Endpoint { host: "127.0.0.1".into(), port })
    }

    #[tokio::test]
    async fn a_forwarder_with_nobody_behind_it_is_not_ready() {
        let (listener, endpoint) = listener().await;
        let forwarder = tokio::spawn(async move {
            loop {
                drop(listener.accept().await);
            }
        });
        assert!(takes_connections(&endpoint).await.is_err());
        forwarder.abort();
    }

    #[tokio::test]
    async fn whoever_listens_is_ready() {
        let (listener, endpoint) = listener().await;
        assert_eq!(takes_connections(&endpoint).await, Ok(()));
        drop(listener);
        assert!(takes_connections(&endpoint).await.is_err());
    }

    #[tokio::test]
    async fn the_status_decides() {
        for (status, ready) in
            [("200 OK", true), ("302 Found", true), ("404 Not Found", false), ("503 Busy", false)]
        {
            let (listener, endpoint) = listener().await;
            let server = tokio::spawn(async move {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut read = [0; 512];
                let n = stream.read(&mut read).await.unwrap();
                let text = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                stream.write_all(text.as_bytes()).await.unwrap();
                String::from_utf8_lossy(&read[..n]).into_owned()
            });
            assert_eq!(answers(&endpoint, "/healthz").await.is_ok(), ready, "{status}");
            assert!(server.await.unwrap().starts_with("GET /healthz HTTP/1.1"));
        }
    }

    #[tokio::test]
    async fn one_that_hangs_is_asked_again() {
        let (_listener, endpoint) = listener().await;
        tokio::time::pause();
        assert!(in_time(answers(&endpoint, "/")).await.unwrap_err().contains("no answer"));
    }
}
