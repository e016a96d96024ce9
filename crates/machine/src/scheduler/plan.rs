//! Which elements form a group, and which cores subscribe to it.

use crate::description::Machine;
use crate::fault::Fault;

/// A group.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Group {
    /// Its elements, by their numbers in the trace.
    pub elements: Vec<usize>,
    /// The cores that take its packets.
    pub cores: Vec<usize>,
}

/// All groups.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct GroupAssignment {
    /// The groups, by number.
    pub groups: Vec<Group>,
}

impl GroupAssignment {
    /// Every core does everything for a packet.
    pub fn completion(elements: usize, cores: usize) -> Self {
        Self { groups: vec![Group { elements: (0..elements).collect(), cores: (0..cores.max(1)).collect() }] }
    }

    /// Each element has a group and a core.
    pub fn each(elements: usize) -> Self {
        Self { groups: (0..elements).map(|n| Group { elements: vec![n], cores: vec![n] }).collect() }
    }

    /// Elements beside each other whose cycles together are no more than those of the slowest one
    /// share a group; then each further core is given to the group that is slowest.
    pub fn balanced(cycles: &[u64], cores: usize) -> Self {
        let most = cycles.iter().copied().max().unwrap_or(0);
        let mut groups: Vec<(Vec<usize>, u64)> = Vec::new();
        for (element, own) in cycles.iter().enumerate() {
            match groups.last_mut().filter(|(_, sum)| sum + own <= most) {
                Some((elements, sum)) => {
                    elements.push(element);
                    *sum += own;
                }
                None => groups.push((vec![element], *own)),
            }
        }
        let mut given = vec![1_u64; groups.len()];
        for _ in groups.len()..cores {
            let slowest = (0..groups.len()).max_by_key(|n| (groups[*n].1 / given[*n], std::cmp::Reverse(*n)));
            slowest.into_iter().for_each(|n| given[n] += 1);
        }
        let mut next = 0;
        let mut cores = |count: u64| {
            next += count as usize;
            (next - count as usize..next).collect()
        };
        Self { groups: groups.into_iter().zip(given).map(|((elements, _), count)| Group { elements, cores: cores(count) }).collect() }
    }

    /// Reads lines `CORE[-CORE][,CORE…] ELEMENT…`: each is a group. `*` is every element that no
    /// other line names, and a comment begins with `#`.
    ///
    /// # Errors
    /// A line is wrong, or an element is in no group, or in two.
    pub fn read(text: &str, elements: &[&str], machine: &Machine) -> Result<Self, Fault> {
        let (mut groups, mut rest) = (Vec::new(), None);
        for (n, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            let mut words = line.split_whitespace();
            let Some(first) = words.next() else { continue };
            let place = |what: Fault| Fault::new(format!("line {}: {what}", n + 1));
            let mut group = Group { elements: Vec::new(), cores: cores(first, machine).map_err(place)? };
            for word in words {
                match elements.iter().position(|name| *name == word) {
                    _ if word == "*" => rest = Some(groups.len()),
                    Some(at) => group.elements.push(at),
                    None => {
                        return Err(place(Fault::new(format!("`{word}` is no element with a program: there are {}", elements.join(", ")))));
                    }
                }
            }
            groups.push(group);
        }
        let mut plan = Self { groups };
        if let Some(group) = rest {
            let left: Vec<usize> = (0..elements.len()).filter(|n| plan.group_of(*n).is_none()).collect();
            plan.groups[group].elements.extend(left);
        }
        plan.complete(elements, machine)
    }

    fn complete(self, elements: &[&str], machine: &Machine) -> Result<Self, Fault> {
        let times = |n: usize| self.groups.iter().flat_map(|group| &group.elements).filter(|element| **element == n).count();
        if let Some(n) = (0..elements.len()).find(|n| times(*n) != 1) {
            return Err(Fault::new(format!("`{}` is in {} groups: name it, or `*`, in one line", elements[n], times(n))));
        }
        let most = machine.scheduler.as_ref().map_or(0, |scheduler| scheduler.groups as usize);
        match self.groups.len() > most {
            true => Err(Fault::new(format!("there are {} groups, and {} has {most}", self.groups.len(), machine.name))),
            false => Ok(self),
        }
    }

    /// The group of an element.
    pub fn group_of(&self, element: usize) -> Option<usize> {
        self.groups.iter().position(|group| group.elements.contains(&element))
    }
}

/// Cores as `0-3,7`.
fn cores(text: &str, machine: &Machine) -> Result<Vec<usize>, Fault> {
    let count = machine.processor.cores as usize;
    let number = |text: &str| match text.parse::<usize>() {
        Ok(core) if core < count => Ok(core),
        _ => Err(Fault::new(format!("`{text}` is no core: {} has 0 to {}", machine.name, count - 1))),
    };
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        all.extend(number(first)?..=number(last)?);
    }
    match all.is_empty() {
        true => Err(Fault::new(format!("`{text}` names no core"))),
        false => Ok(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_read() {
        let machine = crate::description::named("octeon").unwrap();
        let read = |text: &str| GroupAssignment::read(text, &["a", "b", "c"], &machine);
        let plan = read("0-1,4 b # the slow one\n\n2 *\n").unwrap();
        assert_eq!(plan.groups[0], Group { elements: vec![1], cores: vec![0, 1, 4] });
        assert_eq!(plan.groups[1], Group { elements: vec![0, 2], cores: vec![2] });
        assert!(read("0 a b").unwrap_err().to_string().contains("`c` is in 0 groups"));
        assert!(read("0 a b c\n1 a").unwrap_err().to_string().contains("`a` is in 2 groups"));
        assert!(read("0 a b d").unwrap_err().to_string().contains("line 1: `d` is no element"));
        assert!(read("16 *").unwrap_err().to_string().contains("has 0 to 15"));
        assert!(read("1-0 *").unwrap_err().to_string().contains("names no core"));
        assert!(read(&format!("{}0 *", "0\n".repeat(16))).unwrap_err().to_string().contains("there are 17 groups"));
    }

    #[test]
    fn the_slowest_group_is_given_cores() {
        let plan = GroupAssignment::balanced(&[10, 20, 60, 5, 5], 5);
        let cores: Vec<usize> = plan.groups.iter().map(|group| group.cores.len()).collect();
        assert_eq!(plan.groups.iter().map(|group| group.elements.clone()).collect::<Vec<_>>(), [vec![0, 1], vec![2], vec![3, 4]]);
        // 60 on two cores are as slow as 30 on one: the first group is first among equals.
        assert_eq!(cores, [2, 2, 1]);
    }
}
