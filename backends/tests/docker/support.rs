//! An engine, an image made here, and a namespace of one's own that is empty again afterwards.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use bollard::Docker;
use bollard::models::ContainerCreateBody;
use bollard::query_parameters::{
    CreateContainerOptionsBuilder, CreateImageOptionsBuilder, ListContainersOptionsBuilder,
    RemoveContainerOptionsBuilder,
};
use futures_util::{FutureExt, StreamExt};
use leasehold::{
    Command, Exit, Identity, InstanceId, Namespace, Output, OwnerId, SandboxBackend, SandboxId, SandboxSpec,
    SessionKey,
};
use leasehold_backends::docker::{DockerBackend, DockerConfig, ReadyCheck};
use tokio::sync::OnceCell;

/// Longer than anything here takes; a wait that ends at it has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// A shell, its tools and a server of files, and nothing else.
pub(crate) const IMAGE: &str = "leasehold-test/busybox:1";
/// The programs of the image, all of which are busybox.
const PROGRAMS: &str =
    "sh sleep cat echo httpd kill env id touch ls mkdir mount true false head tr wc ps test nproc yes";

/// Runs a test with a namespace of its own, and looks afterwards that nothing of it is left.
pub(crate) async fn with_yard<F: Future<Output = ()>>(test: impl FnOnce(Yard) -> F) {
    let Some(docker) = engine().await else { return };
    let namespace = Namespace::new(&format!("t{}", &tag())).unwrap();
    let outcome = AssertUnwindSafe(test(Yard { docker: docker.clone(), namespace: namespace.clone() }));
    let outcome = outcome.catch_unwind().await;
    let left = sweep(&docker, namespace.as_str()).await;
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
    assert_eq!(left, Vec::<String>::new(), "left over");
}

/// The engine of this host, with the image; or it is said that there is none.
pub(crate) async fn engine() -> Option<Docker> {
    let docker = match Docker::connect_with_local_defaults() {
        Ok(docker) => docker,
        Err(error) => return none(&error.to_string()),
    };
    match tokio::time::timeout(PATIENCE, docker.negotiate_version()).await {
        Ok(Ok(docker)) if docker.inspect_image(IMAGE).await.is_ok() => Some(docker),
        Ok(Ok(docker)) => {
            let Some(busybox) =
                ["/bin/busybox", "/usr/bin/busybox"].iter().find_map(|path| std::fs::read(path).ok())
            else {
                return none("there is no /bin/busybox to make an image of; install busybox-static");
            };
            build_image(&docker, busybox).await;
            Some(docker)
        }
        Ok(Err(error)) => none(&error.to_string()),
        Err(_) => none("it does not answer"),
    }
}

fn none(why: &str) -> Option<Docker> {
    not_run("docker", &format!("no container engine to test with: {why}"));
    None
}

/// Says that something is not run, and fails where it was asked for.
pub(crate) fn not_run(what: &str, why: &str) {
    let required = std::env::var("LEASEHOLD_REQUIRE").unwrap_or_default();
    assert!(
        !required.split(',').any(|name| name.trim() == what),
        "{what} is required and was not run: {why}"
    );
    eprintln!("not run: {why}");
}

/// Imports a file system with a busybox in it. No registry is needed.
async fn build_image(docker: &Docker, busybox: Vec<u8>) {
    static BUILT: OnceCell<()> = OnceCell::const_new();
    BUILT
        .get_or_init(|| async {
            let (repo, tag) = IMAGE.split_once(':').unwrap();
            let options = CreateImageOptionsBuilder::new().from_src("-").repo(repo).tag(tag).build();
            let body = bollard::body_full(file_system(&busybox).into());
            let mut lines = Box::pin(docker.create_image(Some(options), Some(body), None));
            while let Some(line) = lines.next().await {
                let line = line.unwrap();
                assert!(line.error_detail.is_none(), "{line:?}");
            }
        })
        .await;
}

fn file_system(busybox: &[u8]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    let header = |kind, mode, size| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(size);
        header
    };
    for directory in ["bin/", "tmp/", "www/", "work/"] {
        let mode = if directory == "tmp/" { 0o1777 } else { 0o755 };
        let mut header = header(tar::EntryType::Directory, mode, 0);
        archive.append_data(&mut header, directory, &[][..]).unwrap();
    }
    let mut program = header(tar::EntryType::Regular, 0o755, busybox.len() as u64);
    archive.append_data(&mut program, "bin/busybox", busybox).unwrap();
    for name in PROGRAMS.split(' ') {
        let mut link = header(tar::EntryType::Symlink, 0o777, 0);
        archive.append_link(&mut link, format!("bin/{name}"), "busybox").unwrap();
    }
    let page = b"here\n";
    let mut file = header(tar::EntryType::Regular, 0o644, page.len() as u64);
    archive.append_data(&mut file, "www/index.html", &page[..]).unwrap();
    archive.into_inner().unwrap()
}

/// Removes every container of the namespace that a test left, and says which they were.
pub(crate) async fn sweep(docker: &Docker, namespace: &str) -> Vec<String> {
    let mut left = Vec::new();
    for (id, name) in all(docker).await {
        if is_of(&name, namespace) {
            let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
            let _ = docker.remove_container(&id, Some(options)).await;
            left.push(name);
        }
    }
    left
}

/// Whether a container of this name is of the namespace, or of the neighbour that tests give it.
pub(crate) fn is_of(name: &str, namespace: &str) -> bool {
    let whose = name.split('.').nth(1);
    whose.is_some_and(|whose| whose.strip_prefix(namespace).is_some_and(|rest| ["", "-y"].contains(&rest)))
}

/// Every container of the engine, by id and name.
pub(crate) async fn all(docker: &Docker) -> Vec<(String, String)> {
    let options = ListContainersOptionsBuilder::new().all(true).build();
    let rows = docker.list_containers(Some(options)).await.unwrap();
    rows.into_iter()
        .map(|row| {
            (row.id.unwrap(), row.names.unwrap_or_default().join(",").trim_start_matches('/').to_owned())
        })
        .collect()
}

fn tag() -> String {
    let owner = OwnerId::generate().to_string();
    owner.rsplit(':').next().unwrap().chars().take(12).collect()
}

/// The engine, and a namespace of one's own.
pub(crate) struct Yard {
    pub(crate) docker: Docker,
    pub(crate) namespace: Namespace,
}

impl Yard {
    /// Sandboxes that serve files on port 8080.
    pub(crate) fn config(&self) -> DockerConfig {
        let mut config = DockerConfig::new(self.namespace.clone(), IMAGE);
        config.command = ["httpd", "-f", "-p", "8080", "-h", "/www"].map(str::to_owned).to_vec();
        config.port = Some(8080);
        config.ready = ReadyCheck::Http { path: "/index.html".to_owned() };
        config.stop_patience = Duration::from_secs(2);
        config
    }

    pub(crate) fn backend(&self) -> DockerBackend {
        DockerBackend::new(self.config()).unwrap()
    }

    pub(crate) fn with(&self, change: impl FnOnce(&mut DockerConfig)) -> DockerBackend {
        let mut config = self.config();
        change(&mut config);
        DockerBackend::new(config).unwrap()
    }

    /// Sandboxes without a port that run this script.
    pub(crate) fn running(&self, script: &str) -> DockerBackend {
        self.with(|config| {
            config.command = ["sh", "-c", script].map(str::to_owned).to_vec();
            (config.port, config.ready) = (None, ReadyCheck::Running);
        })
    }

    pub(crate) fn spec(&self, id: &str) -> SandboxSpec {
        let session = Some(SessionKey::new("ada", id).unwrap());
        SandboxSpec {
            id: self.id(id),
            identity: Identity { namespace: self.namespace.clone(), session, policy: None },
            creator: OwnerId::new("gateway-1").unwrap(),
            mounts: Vec::new(),
            environment: BTreeMap::new(),
        }
    }

    pub(crate) fn id(&self, id: &str) -> SandboxId {
        id.parse().unwrap()
    }

    /// A container of somebody who knows nothing of leasehold, running.
    pub(crate) async fn foreign(&self, name: &str, labels: &[(&str, &str)]) -> String {
        let body = ContainerCreateBody {
            image: Some(IMAGE.to_owned()),
            cmd: Some(["sleep", "1000"].map(str::to_owned).to_vec()),
            labels: Some(labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()),
            ..ContainerCreateBody::default()
        };
        let options = CreateContainerOptionsBuilder::new().name(name).build();
        let made = self.docker.create_container(Some(options), body).await.unwrap();
        self.docker.start_container(&made.id, None).await.unwrap();
        made.id
    }

    pub(crate) async fn remove(&self, id: &str) {
        let options = RemoveContainerOptionsBuilder::new().force(true).build();
        self.docker.remove_container(id, Some(options)).await.unwrap();
    }

    pub(crate) async fn runs(&self, id: &str) -> bool {
        let seen = self.docker.inspect_container(id, None).await;
        seen.is_ok_and(|seen| seen.state.and_then(|state| state.running) == Some(true))
    }
}

/// Runs a script in a sandbox to its end.
pub(crate) async fn run(
    backend: &DockerBackend,
    instance: &InstanceId,
    script: &str,
) -> (Exit, String, String) {
    let command = Command::new("sh").arg("-c").arg(script).timeout(PATIENCE);
    finish(backend, instance, command).await
}

/// Runs a command to its end.
pub(crate) async fn finish(
    backend: &DockerBackend,
    instance: &InstanceId,
    command: Command,
) -> (Exit, String, String) {
    let mut running = backend.exec(instance, command).await.unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    loop {
        match running.next().await.unwrap() {
            Output::Stdout(bytes) => out.extend(bytes),
            Output::Stderr(bytes) => err.extend(bytes),
            Output::Exited(exit) => {
                let text = |bytes| String::from_utf8(bytes).unwrap();
                return (exit, text(out), text(err));
            }
        }
    }
}
