//! What code is made for: the machine, and how packets run on it.

use crate::analysis::cost::CostModel;
use crate::mir::Order;

/// A machine, and how packets run on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// Byte order of loads that need no swap.
    pub order: Order,
    /// Bits of the widest register; where packets run in lanes, of a lane.
    pub word: u16,
    /// Many packets run at once, each in a lane: a branch divides the set of lanes, and a block
    /// that no lane reaches is stepped over.
    pub lanes: bool,
    /// A load of several bytes is one only at a multiple of their number, for which packets count
    /// from two bytes before they begin: what follows an Ethernet header is aligned.
    pub aligned: bool,
    /// Places in the packet are constants of the code: packets whose heads have moved by different
    /// numbers of bytes need ways of their own, whatever code that takes.
    pub ways: bool,
    /// Of so many ports or more, that by which a packet leaves is looked up by its number; fewer
    /// are tested for.
    pub numbered_ports: u32,
    /// What the machine charges for.
    pub costs: CostModel,
}

impl Target {
    /// This machine, one packet after the other.
    pub const HERE: Self = Self {
        order: if cfg!(target_endian = "big") { Order::Big } else { Order::Little },
        word: 64,
        lanes: false,
        aligned: false,
        ways: false,
        numbered_ports: 3,
        costs: CostModel::SERVER,
    };
    /// This machine, many packets at once.
    pub const LANES: Self = Self { word: 32, lanes: true, numbered_ports: u32::MAX, ..Self::HERE };

    /// A big-endian processor without loads of what is not aligned, as MIPS.
    pub const ALIGNED: Self = Self { order: Order::Big, aligned: true, ..Self::HERE };

    /// This target with bytes in that order.
    pub const fn in_order(self, order: Order) -> Self {
        Self { order, ..self }
    }
}

impl Default for Target {
    fn default() -> Self {
        Self::HERE
    }
}
