//! Numbers of BMv2's simple_switch, as programs for v1model know them.

use crate::pipeline::Paths;

/// The values of `instance_type`.
pub(super) const PATHS: Paths =
    Paths { arrived: 0, unicast: 0, multicast: 5, ingress_clone: 1, egress_clone: 2, resubmitted: 6, recirculated: 4 };
/// The port that drops.
pub(super) const DROP_PORT: u32 = 511;
