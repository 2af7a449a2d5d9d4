use std::fmt;

/// How far the leases of a store are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// In this process alone. Nobody else sees these leases, so nobody else can be kept out by them.
    Process,
    /// By every process under this kernel.
    Host,
    /// By every host that reaches the server.
    Cluster,
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Process => "process",
            Self::Host => "host",
            Self::Cluster => "cluster",
        })
    }
}
