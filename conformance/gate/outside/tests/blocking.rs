//! The gate on this crate's own code.

use std::sync::Arc;

use leasehold_gate as gate;
use outside::Documents;

fn documents() -> Documents {
    Documents::of(env!("CARGO_MANIFEST_DIR"))
}

#[tokio::test]
async fn get_does_not_block() {
    let text = gate::strict(async { documents().get("Cargo.toml").await }).await;
    assert!(text.expect("this crate has a manifest").contains("outside"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn get_does_not_block_in_tasks_either() {
    let documents = Arc::new(documents());
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let documents = Arc::clone(&documents);
            tokio::spawn(gate::strict(async move { documents.get("Cargo.toml").await }))
        })
        .collect();
    for task in tasks {
        assert!(task.await.expect("no task blocked").is_ok());
    }
}

#[tokio::test]
async fn get_and_block_does_and_the_gate_says_where() {
    if let gate::Status::Unavailable(why) = gate::status() {
        eprintln!("not run: {why}");
        return;
    }
    let (text, violations) = gate::record(async { documents().get_and_block("Cargo.toml").await }).await;
    assert!(text.is_ok());
    let first = violations.first().expect("it opens a file");
    assert_eq!(first.call(), "openat");
    assert!(first.target().is_some_and(|path| path.ends_with("Cargo.toml")));
    let ours = first.backtrace().iter().any(|frame| frame.function.contains("get_and_block"));
    assert!(ours, "{first}");
}

#[tokio::test]
async fn get_and_block_fails_a_strict_task() {
    let gated = match gate::try_strict(async { documents().get_and_block("Cargo.toml").await }) {
        Ok(gated) => gated,
        Err(unavailable) => {
            eprintln!("not run: {unavailable}");
            return;
        }
    };
    let error = tokio::spawn(gated).await.expect_err("it blocks its thread");
    let message = *error.into_panic().downcast::<String>().expect("a panic with a message");
    assert!(message.contains("openat") && message.contains("get_and_block"), "{message}");
}
