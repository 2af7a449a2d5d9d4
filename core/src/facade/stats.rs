/// What a facade is doing right now, and what it has been through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FacadeStats {
    /// Calls that wait for a worker, in both lanes.
    pub waiting: usize,
    /// Calls inside the store, those past their deadline among them.
    pub running: usize,
    /// Calls inside the store that are past their deadline: each has cost a worker.
    pub stuck: usize,
    /// Threads of this facade, its watcher among them.
    pub threads: usize,
    /// Workers that took the place of a stuck one, ever.
    pub replaced: u64,
    /// Calls that ended past their deadline, ever.
    pub timed_out: u64,
    /// Calls whose store panicked, ever.
    pub panicked: u64,
    /// Tenures that nobody was left to receive, ever.
    pub orphaned: u64,
}
