//! Elements that say something to whoever reads the configuration, and do nothing while it runs.
//!
//! AddressInfo and PortInfo give names to addresses and ports; the front end has put them in by the time that elements are made. The others are for
//! schedulers and threads that there are none of here.

use super::{Native, NativeClass};

macro_rules! information {
    ($static:ident, $name:literal, $manual:literal) => {
        pub(super) static $static: NativeClass =
            NativeClass { name: $name, ports: "0/0", processing: "a/a", flow: "", manual: $manual, make: |_| Ok(Box::new(Information)) };
    };
}

information!(ADDRESS_INFO, "AddressInfo", "AddressInfo(NAME ADDRESS..., ...) -- names for addresses");
information!(PORT_INFO, "PortInfo", "PortInfo(NAME PORT[/PROTOCOL], ...) -- names for ports");
information!(SCHEDULE_INFO, "ScheduleInfo", "ScheduleInfo(ELEMENT SHARE, ...) -- has no effect: tasks have equal shares");
information!(ALIGNMENT_INFO, "AlignmentInfo", "AlignmentInfo(ELEMENT MODULUS OFFSET..., ...) -- has no effect: accesses need no alignment");
information!(STATIC_THREAD_SCHED, "StaticThreadSched", "StaticThreadSched(ELEMENT THREAD, ...) -- has no effect: there is one thread");
information!(BALANCED_THREAD_SCHED, "BalancedThreadSched", "BalancedThreadSched([INTERVAL]) -- has no effect: there is one thread");

struct Information;

impl Native for Information {
    fn takes_bursts(&self) -> bool {
        true
    }
}
