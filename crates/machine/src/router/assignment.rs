//! Which thread does what: paths of elements from a port in, or to a port out.

use super::Ports;
use crate::description::Machine;
use crate::fault::Fault;

/// What a thread does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Frames that come in by these ports, in turn.
    Receive(Vec<u32>),
    /// Frames that leave by these.
    Transmit(Vec<u32>),
    /// Nothing.
    Idle,
}

/// Roles by thread, those of an engine side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The roles.
    pub roles: Vec<Role>,
}

impl Assignment {
    /// The first engines receive, the others transmit; ports go to their threads in turn.
    pub fn split(machine: &Machine, ports: &Ports, receiving: u32) -> Self {
        let (all, first) = (machine.threads(), receiving * machine.processor.threads);
        let of = |n: u32, threads: u32| {
            (0..ports.count.max(threads)).filter(|port| port % threads == n).map(|port| port % ports.count).collect()
        };
        let role = |n: u32| if n < first { Role::Receive(of(n, first)) } else { Role::Transmit(of(n - first, all - first)) };
        Self { roles: (0..all).map(role).collect() }
    }

    /// Reads lines `ENGINE.THREAD receive|transmit PORT…`; a comment begins with `#`.
    ///
    /// # Errors
    /// A line is wrong, or a port has no thread one way.
    pub fn read(text: &str, machine: &Machine, ports: &Ports) -> Result<Self, Fault> {
        let mut roles = vec![Role::Idle; machine.threads() as usize];
        for (n, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                let (at, role) = parsed(line, machine, ports).map_err(|what| Fault::new(format!("line {}: {what}", n + 1)))?;
                roles[at] = role;
            }
        }
        for port in 0..ports.count {
            let receives = roles.iter().any(|role| matches!(role, Role::Receive(all) if all.contains(&port)));
            let transmits = roles.iter().any(|role| matches!(role, Role::Transmit(all) if all.contains(&port)));
            if !(receives && transmits) {
                return Err(Fault::new(format!("port {port} has no thread that {}", if receives { "transmits" } else { "receives" })));
            }
        }
        Ok(Self { roles })
    }

    /// How many threads receive and transmit.
    pub fn counts(&self) -> (usize, usize) {
        let count = |wanted: fn(&Role) -> bool| self.roles.iter().filter(|role| wanted(role)).count();
        (count(|role| matches!(role, Role::Receive(_))), count(|role| matches!(role, Role::Transmit(_))))
    }
}

fn parsed(line: &str, machine: &Machine, ports: &Ports) -> Result<(usize, Role), Fault> {
    let mut words = line.split_whitespace();
    let (place, what) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (engine, thread) = place.split_once('.').ok_or_else(|| Fault::new(format!("`{place}`: ENGINE.THREAD is wanted")))?;
    let number = |text: &str, limit: u32| {
        text.parse::<u32>().ok().filter(|n| *n < limit).ok_or_else(|| Fault::new(format!("`{text}` is no number below {limit}")))
    };
    let at = number(engine, machine.processor.cores)? * machine.processor.threads + number(thread, machine.processor.threads)?;
    let all = words.map(|word| number(word, ports.count)).collect::<Result<Vec<_>, _>>()?;
    match what {
        "receive" if !all.is_empty() => Ok((at as usize, Role::Receive(all))),
        "transmit" if !all.is_empty() => Ok((at as usize, Role::Transmit(all))),
        _ => Err(Fault::new(format!("`{line}`: receive or transmit, and ports"))),
    }
}
