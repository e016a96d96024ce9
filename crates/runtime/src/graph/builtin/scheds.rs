//! Schedulers: which input a packet is pulled from.

use super::super::{Args, ElementError, HandlerError, Packet, text};
use super::{BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, Ready, Setup, element_handlers};
use std::collections::VecDeque;

/// Of those that say nothing but whose turn it is.
const MOVES: Facts = Facts { moves: true, ..Facts::OWN };

macro_rules! sched {
    ($static:ident, $name:literal, $make:expr, $facts:expr, $manual:literal) => {
        pub(super) static $static: BuiltInClass =
            BuiltInClass { name: $name, ports: "1-/1", processing: "l/l", flow: "", facts: $facts, manual: $manual, make: $make };
    };
}

sched!(
    ROUND_ROBIN,
    "RoundRobinSched",
    |s| plain(s, Order::Round),
    MOVES,
    "RoundRobinSched -- pulls from its inputs in turn\n\nAn input that has nothing is left out."
);
sched!(
    SIMPLE_ROUND_ROBIN,
    "SimpleRoundRobinSched",
    |s| plain(s, Order::Round),
    MOVES,
    "SimpleRoundRobinSched -- the same as RoundRobinSched"
);
sched!(PRIO, "PrioSched", |s| plain(s, Order::First), MOVES, "PrioSched -- pulls from the first input that has a packet");
sched!(SIMPLE_PRIO, "SimplePrioSched", |s| plain(s, Order::First), MOVES, "SimplePrioSched -- the same as PrioSched");
sched!(
    STRIDE,
    "StrideSched",
    stride,
    Facts::OWN,
    "StrideSched(TICKETS0, TICKETS1, ...) -- pulls from its inputs in proportion to their tickets\n\nInputs that have nothing lose their turn. More than 32768 tickets are as many. Handlers: tickets0 tickets1 ... rw."
);
sched!(
    TIME_SORTED,
    "TimeSortedSched",
    time_sorted,
    Facts { holds_packets: true, ..Facts::OTHER },
    "TimeSortedSched([STOP, BUFFER]) -- pulls the packet with the earliest time of all inputs\n\nIt holds BUFFER packets (1) of each input. With STOP true it asks for the end of the \
     run when all inputs are at their end. Handlers: well_ordered r."
);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    First,
    Round,
}

fn plain(setup: &Setup<'_>, order: Order) -> Result<Box<dyn BuiltIn>, ElementError> {
    Args::parse(setup.arguments, &[], &[])?;
    Ok(Box::new(Plain { inputs: setup.inputs, order, next: 0 }))
}

/// Inputs in a fixed order, or in turn.
struct Plain {
    inputs: u32,
    order: Order,
    next: u32,
}

impl BuiltIn for Plain {
    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        for tried in 0..self.inputs {
            let port = (self.next + tried) % self.inputs;
            if let Some(packet) = ctx.pull(port) {
                if self.order == Order::Round {
                    self.next = (port + 1) % self.inputs;
                }
                return Some(packet);
            }
        }
        None
    }
}

/// What one ticket's stride is counted in.
const STRIDE1: u64 = 1 << 16;
/// The most tickets that an input can have.
const MOST_TICKETS: u64 = 1 << 15;

fn stride(setup: &Setup<'_>) -> Result<Box<dyn BuiltIn>, ElementError> {
    let tickets = |argument: &String| {
        let number = text::integer(argument).and_then(|n| u64::try_from(n).ok());
        number.ok_or_else(|| ElementError::argument(format!("expected a number of tickets, not '{argument}'")))
    };
    let tickets: Vec<u64> = setup.arguments.iter().map(tickets).collect::<Result<_, _>>()?;
    if tickets.len() != setup.inputs as usize {
        return Err(ElementError::argument(format!("{} numbers of tickets for {} inputs", tickets.len(), setup.inputs)));
    }
    let clients: Vec<_> = tickets.into_iter().enumerate().map(|(port, tickets)| Client::new(port as u32, tickets)).collect();
    Ok(Box::new(Stride { clients }))
}

struct Client {
    port: u32,
    tickets: u64,
    pass: u64,
}

impl Client {
    fn new(port: u32, tickets: u64) -> Self {
        Self { port, tickets, pass: STRIDE1 / tickets.clamp(1, MOST_TICKETS) }
    }

    /// Gives it so many tickets, or as many as there can be; that is told.
    fn set(&mut self, tickets: u64, ctx: &mut Ctx<'_>) {
        self.tickets = tickets.min(MOST_TICKETS);
        if tickets > MOST_TICKETS {
            ctx.tell(&format!("tickets of input {} are reduced to {MOST_TICKETS}", self.port));
        }
    }

    fn stride(&self) -> u64 {
        STRIDE1 / self.tickets.max(1)
    }
}

/// Inputs by their passes (Waldspurger and Weihl, Stride Scheduling, 1995); of equal ones the
/// first.
struct Stride {
    clients: Vec<Client>,
}

impl BuiltIn for Stride {
    fn init(&mut self, ctx: &mut Ctx<'_>) -> Result<(), ElementError> {
        self.clients.iter_mut().for_each(|client| client.set(client.tickets, ctx));
        Ok(())
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let mut order: Vec<_> = self.clients.iter_mut().filter(|client| client.tickets > 0).collect();
        order.sort_by_key(|client| (client.pass, client.port));
        for client in order {
            let packet = ctx.pull(client.port);
            client.pass = client.pass.saturating_add(client.stride());
            if packet.is_some() {
                return packet;
            }
        }
        None
    }

    gives!(handlers);
}

impl Handlers for Stride {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        let names: Vec<_> = (0..self.clients.len()).map(|port| format!("tickets{port}")).collect();
        element_handlers(&[], &[], &names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(self.client(handler).map_or(0, |client| client.tickets).to_string())
    }

    fn write(&mut self, handler: &str, value: &str, ctx: &mut Ctx<'_>) -> Result<(), HandlerError> {
        let tickets = text::integer(value)
            .and_then(|n| u64::try_from(n).ok())
            .ok_or_else(|| HandlerError::invalid("expected a number of tickets"))?;
        if let Some(client) = self.client(handler) {
            client.set(tickets, ctx);
        }
        Ok(())
    }
}

impl Stride {
    fn client(&mut self, handler: &str) -> Option<&mut Client> {
        let port = handler.strip_prefix("tickets")?.parse().ok();
        self.clients.iter_mut().find(|client| Some(client.port) == port)
    }
}

fn time_sorted(setup: &Setup<'_>) -> Result<Box<dyn BuiltIn>, ElementError> {
    let args = Args::parse(setup.arguments, &[], &["STOP", "BUFFER"])?;
    let buffer = args.count("BUFFER", 1, 1 << 16)?.max(1) as usize;
    let held = (0..setup.inputs).map(|_| VecDeque::new()).collect();
    Ok(Box::new(TimeSorted { held, buffer, stop: args.boolean("STOP", false)?, stopped: false, last: 0, ordered: true }))
}

struct TimeSorted {
    /// Packets of each input.
    held: Vec<VecDeque<Packet>>,
    buffer: usize,
    stop: bool,
    stopped: bool,
    last: u64,
    ordered: bool,
}

impl TimeSorted {
    /// The earliest packet held: input and place.
    fn first(&self) -> Option<(usize, usize)> {
        let all = self
            .held
            .iter()
            .enumerate()
            .flat_map(|(port, held)| held.iter().enumerate().map(move |(at, packet)| (packet.buffer.time_ns, port, at)));
        all.min().map(|(_, port, at)| (port, at))
    }
}

impl BuiltIn for TimeSorted {
    fn held(&self) -> usize {
        self.held.iter().map(VecDeque::len).sum()
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        for (port, held) in self.held.iter_mut().enumerate() {
            while held.len() < self.buffer
                && let Some(packet) = ctx.pull(port as u32)
            {
                held.push_back(packet);
            }
        }
        let packet = self.first().and_then(|(port, at)| self.held[port].remove(at));
        match &packet {
            Some(packet) => {
                self.ordered &= packet.buffer.time_ns >= self.last;
                (self.last, self.stopped) = (packet.buffer.time_ns, false);
            }
            None if self.stop && !self.stopped && !ctx.ready().any_input() => {
                self.stopped = true;
                ctx.stop();
            }
            None => {}
        }
        packet
    }

    fn is_ready(&self, _: u32, ctx: &Ready<'_>) -> bool {
        self.held.iter().any(|held| !held.is_empty()) || ctx.any_input()
    }

    gives!(handlers);
}

impl Handlers for TimeSorted {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["well_ordered"], &[], &[])
    }

    fn read(&mut self, _: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(self.ordered.to_string())
    }

    fn write(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<(), HandlerError> {
        Err(super::no_handler(handler))
    }
}
