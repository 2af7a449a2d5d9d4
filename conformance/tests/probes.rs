//! The facade tier on stores that do real blocking work in every operation.

macro_rules! tier {
    ($($module:ident $probe:ident;)*) => {
        $(mod $module {
            leasehold_conformance::facade_suite!(leasehold_conformance::probes::$probe);
        })*
    };
}

tier! {
    file FileProbe;
    socket SocketProbe;
    lock LockProbe;
    sleep SleepProbe;
    sqlite SqliteProbe;
}
