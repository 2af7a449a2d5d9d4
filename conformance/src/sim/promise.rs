//! A value that comes later, from the world to a task.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// Waits for a value that somebody else gives. A clone waits for, or gives, the same one.
pub(super) struct Promise<T> {
    inner: Arc<Mutex<(Option<T>, Option<Waker>)>>,
}

impl<T> Promise<T> {
    pub(super) fn new() -> Self {
        Self { inner: Arc::new(Mutex::new((None, None))) }
    }

    /// Gives the value.
    pub(super) fn keep(&self, value: T) {
        let waker = {
            let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            inner.0 = Some(value);
            inner.1.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

impl<T> Clone for Promise<T> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<T> Future for Promise<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = inner.0.take() {
            return Poll::Ready(value);
        }
        inner.1 = Some(cx.waker().clone());
        Poll::Pending
    }
}
