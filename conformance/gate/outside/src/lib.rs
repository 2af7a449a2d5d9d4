//! A small cache of documents on disk, with one honest way to load them and one that blocks.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Mutex;

/// Documents of one directory, kept in memory once they were read.
pub struct Documents {
    directory: PathBuf,
    read: Mutex<HashMap<String, Arc<str>>>,
}

impl Documents {
    /// The documents of that directory.
    pub fn of(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), read: Mutex::new(HashMap::new()) }
    }

    /// A document, read off the runtime's threads.
    ///
    /// # Errors
    ///
    /// When it can't be read.
    pub async fn get(&self, name: &str) -> io::Result<Arc<str>> {
        let mut read = self.read.lock().await;
        if let Some(text) = read.get(name) {
            return Ok(Arc::clone(text));
        }
        let text: Arc<str> = tokio::fs::read_to_string(self.path(name)).await?.into();
        read.insert(name.to_owned(), Arc::clone(&text));
        Ok(text)
    }

    /// The same with the mistake that everyone makes once: async by its name, and it blocks its thread.
    ///
    /// # Errors
    ///
    /// When it can't be read.
    pub async fn get_and_block(&self, name: &str) -> io::Result<Arc<str>> {
        Ok(std::fs::read_to_string(self.path(name))?.into())
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::new(&self.directory).join(name)
    }
}
