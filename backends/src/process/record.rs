use std::path::Path;

use leasehold::{
    BackendError, BootId, Condition, Endpoint, Identity, Namespace, OwnerId, SandboxId, SandboxInfo,
    SessionKey, WallTime,
};
use serde::{Deserialize, Serialize};

use super::error::corrupt;
use super::host::Birthplace;
use super::name::{self, InstanceName};

/// What is kept of one instance: whose it is, where it was made, and which process it is.
///
/// On the disk it is a line with a version and a checksum, and JSON after that. Values of the environment are not in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) id: SandboxId,
    pub(super) name: InstanceName,
    pub(super) identity: Identity,
    pub(super) creator: OwnerId,
    /// By the wall clock, in microseconds since 1970.
    pub(super) created: WallTime,
    pub(super) endpoint: Option<Endpoint>,
    pub(super) birthplace: Birthplace,
    /// Its first process, which is the leader of its group; `None` until that has been started and written down.
    pub(super) process: Option<ProcessId>,
    /// Whether its stop has begun: no command is started in it any more.
    pub(super) stopping: bool,
}

/// A process that can't be mistaken for another that got its number later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct ProcessId {
    pub(super) pid: i32,
    /// When it started, in the kernel's ticks since boot.
    pub(super) start: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    id: String,
    namespace: String,
    nonce: String,
    session: Option<(String, String)>,
    policy: Option<String>,
    creator: String,
    created: u64,
    endpoint: Option<(String, u16)>,
    machine: String,
    boot: String,
    pid_namespace: String,
    time_namespace: String,
    process: Option<ProcessId>,
    stopping: bool,
}

const MAGIC: &str = "leasehold-process";
const VERSION: &str = "1";

impl Record {
    pub(super) fn encode(&self) -> Vec<u8> {
        let session = self.identity.session.as_ref();
        let form = Form {
            id: self.id.to_string(),
            namespace: self.name.namespace.to_string(),
            nonce: self.name.nonce.clone(),
            session: session.map(|key| (key.user().to_owned(), key.thread().to_owned())),
            policy: self.identity.policy.as_deref().map(str::to_owned),
            creator: self.creator.to_string(),
            created: self.created,
            endpoint: self.endpoint.as_ref().map(|at| (at.host.clone(), at.port)),
            machine: self.birthplace.machine.clone(),
            boot: self.birthplace.boot.to_string(),
            pid_namespace: self.birthplace.pid_namespace.clone(),
            time_namespace: self.birthplace.time_namespace.clone(),
            process: self.process,
            stopping: self.stopping,
        };
        let body =
            serde_json::to_string(&form).expect("text, numbers and options always have a form in JSON");
        format!("{MAGIC} {VERSION} {:08x}\n{body}\n", crc32fast::hash(body.as_bytes())).into_bytes()
    }

    /// Reads what [`encode`](Self::encode) wrote; `path` is where it stands, and `namespace` and `directory` say what has
    /// to be in a record that stands there.
    pub(super) fn decode(
        bytes: &[u8],
        path: &Path,
        namespace: &Namespace,
        directory: &str,
    ) -> Result<Self, BackendError> {
        let damaged = |what: &str| corrupt(format!("the record is damaged ({what})"), path);
        let text = std::str::from_utf8(bytes).map_err(|_| damaged("it is not text"))?;
        let (head, rest) = text.split_once('\n').ok_or_else(|| damaged("it has no first line"))?;
        let mut words = head.split(' ');
        let (Some(MAGIC), Some(version), Some(sum), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(damaged("its first line is not that of a record"));
        };
        if version != VERSION {
            return Err(corrupt(
                format!("the record is of version {version}, and this reads {VERSION}"),
                path,
            ));
        }
        let body = rest.strip_suffix('\n').ok_or_else(|| damaged("it ends too early"))?;
        if format!("{:08x}", crc32fast::hash(body.as_bytes())) != sum {
            return Err(damaged("its checksum is wrong"));
        }
        let form: Form = serde_json::from_str(body).map_err(|e| damaged("its form").with_source(e))?;
        let record = Self::from_form(form).ok_or_else(|| damaged("a value that can't be"))?;
        if record.name.namespace != *namespace || record.name.directory != directory {
            let whose = format!("{} of namespace {}", record.id, record.name.namespace);
            return Err(corrupt(format!("the record of {whose} stands where another's belongs"), path));
        }
        Ok(record)
    }

    fn from_form(form: Form) -> Option<Self> {
        let id = SandboxId::new(&form.id).ok()?;
        let namespace = Namespace::new(&form.namespace).ok()?;
        let session = match form.session {
            Some((user, thread)) => Some(SessionKey::new(&user, &thread).ok()?),
            None => None,
        };
        if !name::is_nonce(&form.nonce) || form.process.is_some_and(|process| process.pid <= 1) {
            return None;
        }
        Some(Self {
            name: InstanceName {
                namespace: namespace.clone(),
                directory: name::directory(&id),
                nonce: form.nonce,
            },
            id,
            identity: Identity { namespace, session, policy: form.policy.map(Into::into) },
            creator: OwnerId::new(&form.creator).ok()?,
            created: form.created,
            endpoint: form.endpoint.map(|(host, port)| Endpoint { host, port }),
            birthplace: Birthplace {
                machine: form.machine,
                boot: BootId::parse(&form.boot)?,
                pid_namespace: form.pid_namespace,
                time_namespace: form.time_namespace,
            },
            process: form.process,
            stopping: form.stopping,
        })
    }

    /// What a provider is told of it.
    pub(super) fn info(&self, condemned: bool, condition: Condition) -> SandboxInfo {
        SandboxInfo {
            id: self.id.clone(),
            instance: self.name.id(),
            identity: self.identity.clone(),
            creator: self.creator.clone(),
            endpoint: self.endpoint.clone(),
            created: Some(self.created),
            condemned,
            condition,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let id = SandboxId::new("sbx-1").unwrap();
        let namespace = Namespace::new("x").unwrap();
        Record {
            name: InstanceName::new(&namespace, &id).unwrap(),
            identity: Identity {
                namespace,
                session: Some(SessionKey::new("ada \"the\" first", "t/1").unwrap()),
                policy: Some("p".into()),
            },
            id,
            creator: OwnerId::new("gw:1").unwrap(),
            created: 7,
            endpoint: Some(Endpoint { host: "127.0.0.1".to_owned(), port: 80 }),
            birthplace: Birthplace {
                machine: "m".to_owned(),
                boot: BootId::from_bits(5),
                pid_namespace: "pid:[1]".to_owned(),
                time_namespace: String::new(),
            },
            process: Some(ProcessId { pid: 1234, start: 99 }),
            stopping: false,
        }
    }

    fn decode(bytes: &[u8], record: &Record) -> Result<Record, BackendError> {
        Record::decode(bytes, Path::new("/r"), &record.name.namespace, &record.name.directory)
    }

    #[test]
    fn what_is_written_is_read() {
        let record = record();
        assert_eq!(decode(&record.encode(), &record).unwrap(), record);
    }

    #[test]
    fn damage_anywhere_is_corrupt() {
        let record = record();
        let good = record.encode();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert!(decode(&bad, &record).is_err(), "a flipped bit at {at}");
            assert!(decode(&good[..at], &record).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_record_that_stands_where_anothers_belongs_is_corrupt() {
        let record = record();
        let elsewhere = name::directory(&SandboxId::new("sbx-2").unwrap());
        let bytes = record.encode();
        let path = Path::new("/r");
        assert!(Record::decode(&bytes, path, &record.name.namespace, &elsewhere).is_err());
        let foreign = Namespace::new("x-y").unwrap();
        assert!(Record::decode(&bytes, path, &foreign, &record.name.directory).is_err());
    }

    #[test]
    fn a_process_number_that_means_many_processes_is_corrupt() {
        for pid in [-1, 0, 1] {
            let record = Record { process: Some(ProcessId { pid, start: 1 }), ..record() };
            assert!(decode(&record.encode(), &record).is_err(), "{pid}");
        }
    }
}
