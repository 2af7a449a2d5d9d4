/// What reports, options and waivers need to know of a case, whatever it proves: a [`Case`](crate::case::Case) of stores,
/// or one of backends (module `backend`).
pub trait Listed: Copy + Send + Sync + 'static {
    /// What such cases prove things about, in one word: `store`, `backend`.
    const SUBJECT: &'static str;

    /// Every case of this sort.
    fn all() -> &'static [Self];

    /// The groups that a report counts by, in order.
    fn groups() -> Vec<&'static str>;

    /// Its name for ever: clause, dot, words.
    fn id(&self) -> &'static str;

    /// Its name as a `#[test]`.
    fn test(&self) -> &'static str;

    /// What must be true.
    fn rule(&self) -> &'static str;

    /// The version of the contract that it came with.
    fn since(&self) -> &'static str;

    /// The family that it stands under in a report.
    fn family(&self) -> &'static str;

    /// The group that it is counted in.
    fn group(&self) -> &'static str;

    /// What it can't do without, in words.
    fn needs(&self) -> Vec<String>;

    /// Why its failure can't be borne for a while, where it can't.
    fn not_waivable(&self) -> Option<String>;

    /// The clause that it proves: its name up to the dot.
    fn clause(&self) -> &'static str {
        self.id().split('.').next().unwrap_or(self.id())
    }
}
