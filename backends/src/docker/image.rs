//! The image: that it is missing, and how it is got.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bollard::Docker;
use bollard::models::CreateImageInfo;
use bollard::query_parameters::CreateImageOptionsBuilder;
use futures_util::StreamExt;
use leasehold::{BackendError, BackendErrorKind};
use tokio::sync::watch;

use super::config::{DockerConfig, Pull};
use super::engine::Engine;
use super::error::failed;

/// The pull that is going on, if one is: whoever needs the image waits for the same one.
#[derive(Debug, Default)]
pub(super) struct Images {
    pulling: Mutex<Option<watch::Receiver<Progress>>>,
}

/// How far a pull is.
#[derive(Clone, Debug)]
enum Progress {
    Running,
    Ended(Result<(), BackendError>),
}

impl Engine {
    /// Gets the image that the engine does not have, if that is wanted.
    ///
    /// # Cancel safety
    /// The pull goes on for whoever asks next.
    pub(super) async fn get_image(&self) -> Result<(), BackendError> {
        let image = &self.config.image;
        if self.config.pull == Pull::Never {
            let text = format!(
                "the engine has no image {image}: pull or build it there, or set `pull` so that it is pulled when missing"
            );
            return Err(BackendError::new(BackendErrorKind::Invalid, text));
        }
        let mut pull = self.images.join(&self.docker, &self.config);
        let ended = pull.wait_for(|progress| matches!(progress, Progress::Ended(_))).await;
        match ended.as_deref() {
            Ok(Progress::Ended(result)) => result.clone(),
            _ => Err(BackendError::new(
                BackendErrorKind::Unavailable,
                format!("the pull of {image} was interrupted"),
            )),
        }
    }
}

impl Images {
    /// The pull that is going on, or a new one.
    fn join(&self, docker: &Docker, config: &DockerConfig) -> watch::Receiver<Progress> {
        let mut pulling = self.pulling.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pull) = &*pulling
            && pull.has_changed().is_ok()
            && matches!(*pull.borrow(), Progress::Running)
        {
            return pull.clone();
        }
        let (tell, pull) = watch::channel(Progress::Running);
        *pulling = Some(pull.clone());
        drop(pulling);
        let (docker, image, bound) =
            (docker.clone(), Arc::<str>::from(config.image.as_str()), config.pull_deadline);
        tokio::spawn(async move {
            let ended = match tokio::time::timeout(bound, get(&docker, &image)).await {
                Ok(ended) => ended,
                Err(_) => {
                    let text = format!("{image} was not pulled within {bound:?}");
                    Err(BackendError::new(BackendErrorKind::Timeout, text))
                }
            };
            match &ended {
                Ok(()) => tracing::info!(%image, "image pulled"),
                Err(error) => tracing::warn!(%image, %error, "image not pulled"),
            }
            let _ = tell.send(Progress::Ended(ended));
        });
        pull
    }
}

async fn get(docker: &Docker, image: &str) -> Result<(), BackendError> {
    tracing::info!(image, "pulling the image, which the engine doesn't have");
    // Without a tag the engine would pull all there are.
    let has_tag = image.contains('@') || image.rsplit('/').next().is_some_and(|last| last.contains(':'));
    let whole = if has_tag { image.to_owned() } else { format!("{image}:latest") };
    let options = CreateImageOptionsBuilder::new().from_image(&whole).build();
    let mut lines = Box::pin(docker.create_image(Some(options), None, None));
    let mut layers = Layers::default();
    while let Some(line) = lines.next().await {
        let line = line.map_err(|e| {
            let error = failed(e);
            BackendError::new(error.kind(), format!("{image} can't be pulled: {error}")).with_source(error)
        })?;
        if let Some(tenths) = layers.note(&line) {
            tracing::info!(image, percent = tenths * 10, bytes = layers.total(), "pulling the image");
        }
    }
    Ok(())
}

/// How much of each layer is there.
#[derive(Debug, Default)]
struct Layers {
    seen: HashMap<String, (i64, i64)>,
    told: i64,
}

impl Layers {
    /// Takes note of a line of the engine's; brings how many tenths are there when that is news.
    fn note(&mut self, line: &CreateImageInfo) -> Option<i64> {
        let (id, progress) = (line.id.as_ref()?, line.progress_detail.as_ref()?);
        let (current, total) = (progress.current?, progress.total.filter(|total| *total > 0)?);
        self.seen.insert(id.clone(), (current, total));
        let there: i64 = self.seen.values().map(|(current, _)| current).sum();
        let tenths = there.saturating_mul(10) / self.total();
        (tenths > self.told).then(|| {
            self.told = tenths;
            tenths
        })
    }

    fn total(&self) -> i64 {
        self.seen.values().map(|(_, total)| total).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bollard::models::ProgressDetail;

    #[test]
    fn progress_is_told_in_tenths_of_all_layers() {
        let mut layers = Layers::default();
        let mut note = |id: &str, current, total| {
            layers.note(&CreateImageInfo {
                id: Some(id.to_owned()),
                progress_detail: Some(ProgressDetail { current: Some(current), total: Some(total) }),
                ..CreateImageInfo::default()
            })
        };
        assert_eq!(note("a", 1, 100), None);
        assert_eq!(note("a", 50, 100), Some(5));
        assert_eq!(note("b", 0, 300), None);
        assert_eq!(note("b", 300, 300), Some(8));
        assert_eq!(note("a", 100, 100), Some(10));
    }
}
