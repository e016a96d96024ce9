//! The ends of connections between stages: elements that the runtime puts where an application is
//! cut. No configuration can name them.

use super::super::builtin::{BuiltIn, BuiltInClass, Ctx, Cut, Facts, Setup, Source};
use super::super::{ElementError, Packet, packet};
use super::ABSENT;
use super::batch::{Batch, Entry, Inbox, Plain, Taken, What};
use crate::io::LinkType;
use netil::cut_through::Role;
use netil::pool::Arrival;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Behind this a packet's link type is the place of its arrival in the inbox: where packets are
/// numbered, nobody looks at link types.
const NUMBERED: u32 = 1 << 16;

/// What a graph has in common with who runs it: the packets that come, and those that leave.
#[derive(Clone, Debug, Default)]
pub struct Rings {
    /// Packets that arrive.
    pub inbox: Arc<Mutex<Inbox>>,
    /// Packets that left.
    pub outbox: Arc<Mutex<Batch>>,
    /// Packets that leave carry the numbers of their arrivals.
    pub numbers: bool,
    /// For each lane that leaves, whether annotations are looked at behind it.
    pub annotated: Vec<bool>,
}

impl Rings {
    /// The link type of a packet: where packets are numbered that of its arrival.
    pub(in super::super) fn link(&self, link: u32) -> u32 {
        let place = link.checked_sub(NUMBERED).filter(|_| self.numbers);
        place.map_or(link, |place| {
            let inbox = lock(&self.inbox);
            inbox.at(place as usize).map_or(LinkType::EN10MB, |(_, entry)| entry.what.link()).number()
        })
    }
}

/// The class of the element that packets of the stage before come from, an output a lane. Its
/// argument says what an arrival is where something can happen between two: [`ONE_PACKET`] or
/// [`ALL_PACKETS`]; none: nothing can.
pub const FROM_RING: &str = "FromRing";
/// No arrival has become several packets in the stages before.
pub const ONE_PACKET: &str = "one";
/// Those that have become of one arrival of the sources arrive together.
pub const ALL_PACKETS: &str = "all";
/// The class of elements that packets go to the next stage by; its arguments are the lanes of its
/// inputs.
pub const TO_RING: &str = "ToRing";

pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The classes of elements where an application is cut. They are none that configurations can name.
pub(in super::super) static CLASSES: [&BuiltInClass; 3] = [&FROM, &TO, &AWAY];

static FROM: BuiltInClass = BuiltInClass {
    name: FROM_RING,
    ports: "0/-",
    processing: "a/a",
    flow: "",
    facts: Facts { cut: Some(Cut::End), role: |arguments| is(arguments, ONE_PACKET).then_some(Role::Source), ..Facts::OTHER },
    manual: "",
    make: |setup| Ok(Box::new(FromRing { rings: rings(setup)?, together: is(setup.arguments, ALL_PACKETS) })),
};

static TO: BuiltInClass = BuiltInClass {
    name: TO_RING,
    ports: "-/0",
    processing: "a/a",
    flow: "",
    facts: Facts { takes_bursts: true, cut: Some(Cut::End), ..Facts::OTHER },
    manual: "",
    make: |setup| {
        Ok(Box::new(ToRing { lanes: setup.arguments.iter().filter_map(|lane| lane.parse().ok()).collect(), rings: rings(setup)? }))
    },
};

static AWAY: BuiltInClass = BuiltInClass {
    name: ABSENT,
    ports: "-/-",
    processing: "a/a",
    flow: "",
    facts: Facts { takes_bursts: true, cut: Some(Cut::Absent), ..Facts::OTHER },
    manual: "",
    make: |_| Ok(Box::new(Absent)),
};

fn is(arguments: &[String], what: &str) -> bool {
    arguments.first().is_some_and(|argument| argument == what)
}

fn rings(setup: &Setup<'_>) -> Result<Rings, ElementError> {
    setup.settings.rings.clone().ok_or_else(|| ElementError::resource("this graph is no stage among others"))
}

/// What stands for an element of another stage.
struct Absent;

impl BuiltIn for Absent {}

struct FromRing {
    rings: Rings,
    /// Packets of one arrival of the sources arrive together.
    together: bool,
}

impl FromRing {
    /// The tag of the packet at that place of the order.
    fn link(&self, place: usize, link: LinkType) -> LinkType {
        if self.rings.numbers { LinkType::from_file(NUMBERED + place as u32) } else { link }
    }

    /// The next packet arrives. Whether another one does with it.
    fn arrive_next(&self, ctx: &mut Ctx<'_>) -> bool {
        let inbox = Arc::clone(&self.rings.inbox);
        let mut inbox = lock(&inbox);
        let more = self.together && inbox.peek().is_some_and(|(place, ..)| inbox.is_followed(place));
        let taken = inbox.take().map(|taken| (taken.place, u32::from(taken.entry.lane), self.packet(taken, ctx)));
        if let Some((place, lane, mut packet)) = taken {
            ctx.comes(&mut packet, inbox.number_at(place));
            packet.buffer.number = inbox.drawn_at(place);
            drop(inbox);
            ctx.emit(lane, packet);
        }
        more
    }

    /// How many packets from that place on, of so many, arrive alone.
    fn alone(&self, inbox: &Inbox, first: usize, most: usize) -> usize {
        if self.together { (first..first + most).take_while(|place| !inbox.is_followed(*place)).count() } else { most }
    }

    fn packet(&self, taken: Taken<'_>, ctx: &Ctx<'_>) -> Packet {
        let Taken { place, batch, entry } = taken;
        if let Some((kept, link)) = batch.kept(&entry) {
            return Packet { buffer: kept.buffer(), rounds: 0, link: self.link(place, link) };
        }
        match entry.what {
            What::Whole(packet) => {
                let link = self.link(place, packet.link);
                Packet { link, ..*packet }
            }
            What::Bytes { at, len, wire_len, time_ns, link } => {
                let bytes = batch.from(at).get(..len as usize).unwrap_or_default();
                let mut packet = Packet::new(bytes, time_ns, ctx.info());
                packet.buffer.set_wire_len(wire_len);
                packet.link = self.link(place, link);
                packet
            }
            // What the batch does not have is no packet.
            What::Kept { time_ns, .. } => Packet::new(&[], time_ns, ctx.info()),
        }
    }
}

impl BuiltIn for FromRing {
    fn source(&mut self) -> Option<&mut dyn Source> {
        Some(self)
    }
}

/// What the stage before has handed over waits in the inbox until it is run: nothing has to be
/// taken back.
impl Source for FromRing {
    fn takes_back(&self) -> bool {
        false
    }

    fn take_back(&mut self, _: &[u32], _: &mut Ctx<'_>) {}

    fn names_entries(&self) -> bool {
        true
    }

    fn next_arrival(&mut self, _: &mut Ctx<'_>) -> Option<u64> {
        lock(&self.rings.inbox).peek().map(|(_, _, entry)| entry.time_ns())
    }

    fn arrive(&mut self, ctx: &mut Ctx<'_>) {
        while self.arrive_next(ctx) {}
    }

    fn arrive_many(&mut self, most: usize, until: u64, slots: &mut Vec<u32>, ctx: &mut Ctx<'_>) -> Option<u64> {
        let shared = Arc::clone(&self.rings.inbox);
        let mut inbox = lock(&shared);
        let mut last = None;
        while slots.len() < most {
            let Some((first, _, entry)) = inbox.peek() else { break };
            let (lane, before) = (entry.lane, slots.len());
            let most = before + self.alone(&inbox, first, most - before);
            let Some(number) = ctx.entry_of(u32::from(lane)) else { break };
            ctx.pool().enter(number);
            let (taken, time) = match entry.what {
                What::Kept { .. } => put_kept(&inbox, first, lane, (most - before, until), slots, ctx),
                _ => put(&inbox, first, lane, (most - before, until), slots, ctx),
            };
            if taken == 0 {
                break;
            }
            ctx.slots_come(slots[before..].iter().zip(first..).map(|(slot, place)| (*slot, inbox.number_at(place))));
            if ctx.pool().keeps_numbers() {
                slots[before..].iter().zip(first..).for_each(|(slot, place)| ctx.pool().set_number(*slot, inbox.drawn_at(place)));
            }
            if self.rings.numbers {
                ctx.pool().number(&slots[before..], NUMBERED + first as u32);
            }
            inbox.step(taken);
            last = Some(time);
        }
        last
    }
}

/// Puts packets that follow each other on one lane into the pool: how many, and when the last one
/// came.
fn put(inbox: &Inbox, first: usize, lane: u16, (most, until): (usize, u64), slots: &mut Vec<u32>, ctx: &mut Ctx<'_>) -> (usize, u64) {
    let (before, mut last, mut tag) = (slots.len(), 0, None);
    let coming = (first..first + most.min(ctx.pool().room())).map_while(|place| {
        let (batch, entry) = inbox.at(place)?;
        let What::Bytes { at, len, wire_len, time_ns, link } = entry.what else { return None };
        let fits = entry.lane == lane && time_ns < until && *tag.get_or_insert(link) == link;
        last = if fits { time_ns } else { last };
        fits.then(|| Arrival { bytes: batch.from(at), len: len as usize, time_ns, wire_len })
    });
    let link = match inbox.at(first) {
        Some((_, Entry { what: What::Bytes { link, .. }, .. })) => *link,
        _ => LinkType::EN10MB,
    };
    ctx.pool().put_many(coming, link.number(), slots);
    (slots.len() - before, last)
}

/// Puts packets with their annotations that follow each other on one lane into the pool: how many,
/// and when the last one came.
fn put_kept(inbox: &Inbox, first: usize, lane: u16, (most, until): (usize, u64), slots: &mut Vec<u32>, ctx: &mut Ctx<'_>) -> (usize, u64) {
    let (before, mut last) = (slots.len(), 0);
    for place in first..first + most {
        let Some((batch, entry)) = inbox.at(place).filter(|(_, entry)| entry.lane == lane && entry.time_ns() < until) else { break };
        let Some((kept, link)) = batch.kept(entry) else { break };
        let Some(slot) = ctx.pool().put_kept(&kept, link.number()) else { break };
        slots.push(slot);
        last = kept.time_ns;
    }
    (slots.len() - before, last)
}

struct ToRing {
    /// By input.
    lanes: Vec<u16>,
    rings: Rings,
}

impl ToRing {
    fn lane(&self, port: u32) -> u16 {
        self.lanes.get(port as usize).copied().unwrap_or(0)
    }

    fn is_annotated(&self, lane: u16) -> bool {
        self.rings.annotated.get(lane as usize).copied().unwrap_or(false)
    }

    /// The number of the arrival that a packet with this tag came from, and its link type.
    fn origin(&self, inbox: &Inbox, link: LinkType) -> (u32, LinkType) {
        let place = link.number().wrapping_sub(NUMBERED) as usize;
        inbox.at(place).map_or((0, LinkType::EN10MB), |(_, entry)| (entry.number, entry.what.link()))
    }
}

impl ToRing {
    /// Hands on packets with their annotations.
    fn push_kept(&mut self, port: u32, slots: &[u32], ctx: &mut Ctx<'_>) {
        let lane = self.lane(port);
        for slot in slots {
            let pool = ctx.pool();
            if let Some(kept) = pool.keep(*slot) {
                let (number, link) = self.origin(&lock(&self.rings.inbox), LinkType::from_file(pool.tag(*slot)));
                let mut outbox = lock(&self.rings.outbox);
                outbox.add_kept(number, lane, &kept, link);
                outbox.number(kept.number);
                pool.give_back(&[*slot]);
                outbox.note(ctx.number_of_slot(*slot));
            } else {
                let packet = ctx.lift(*slot);
                self.push(port, packet, ctx);
            }
        }
    }
}

impl BuiltIn for ToRing {
    fn push(&mut self, port: u32, mut packet: Packet, ctx: &mut Ctx<'_>) {
        let lane = self.lane(port);
        let recorded = ctx.number_of(&packet);
        let (number, link) = self.origin(&lock(&self.rings.inbox), packet.link);
        packet.link = link;
        let drawn = packet.buffer.number;
        let mut outbox = lock(&self.rings.outbox);
        match self.is_annotated(lane) {
            true => outbox.add_whole(number, lane, packet),
            false => {
                let packet::Packet { buffer, .. } = &packet;
                outbox.add(number, lane, Plain { bytes: buffer.bytes(), wire_len: buffer.wire_len(), time_ns: buffer.time_ns, link });
            }
        }
        outbox.number(drawn);
        outbox.note(recorded);
    }

    fn push_slots(&mut self, port: u32, slots: &[u32], ctx: &mut Ctx<'_>) {
        let lane = self.lane(port);
        if self.is_annotated(lane) {
            return self.push_kept(port, slots, ctx);
        }
        let (inbox, mut outbox) = (lock(&self.rings.inbox), lock(&self.rings.outbox));
        for slot in slots {
            let recorded = ctx.number_of_slot(*slot);
            let pool = ctx.pool();
            let (number, link) = self.origin(&inbox, LinkType::from_file(pool.tag(*slot)));
            let (wire_len, time_ns) = (pool.wire_len(*slot), pool.slot(*slot).time_ns);
            outbox.add(number, lane, Plain { bytes: pool.bytes(*slot), wire_len, time_ns, link });
            outbox.number(pool.number_of(*slot));
            outbox.note(recorded);
        }
        ctx.pool().give_back(slots);
    }
}
