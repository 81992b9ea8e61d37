//! Judges conditions of nodes that can disturb measurements. Agents report names and values
//! (`cpus`, `governor`, `mtu`, ...) and omit those that the kernel does not report. What nodes
//! report is theirs to choose, so each warning is made one line.

use garland_core::printable;

/// The conditions of a node as names and values.
pub type Conditions = Vec<(String, String)>;

/// The kind of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Times of small operations, which the node polls for or sleeps until.
    Times {
        /// Whether the node polls instead of sleeping.
        polls: bool,
    },
    /// Rates of transfers or of operations.
    Rates,
}

/// The load of other work, per CPU of the node, above which a warning is given.
const BUSY: f64 = 0.5;

/// The wake-up latency of CPUs, in microseconds, above which it is reported.
const SLOW_TO_WAKE: f64 = 20.0;

/// NICs at this rate in bits per second, and faster ones, should have segmentation offload.
const FAST: u64 = 5_000_000_000;

/// Returns the value of the condition `wanted`; `None` if the agent did not report it.
pub fn value<'c>(conditions: &'c Conditions, wanted: &str) -> Option<&'c str> {
    conditions.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
}

/// The name of the condition that is the speed of the node's NIC, in bits per second.
pub const NIC_SPEED: &str = "speed, bit/s";

/// Returns the speed of the node's NIC, in bits per second; `None` if the agent did not report it.
pub fn nic_speed(conditions: &Conditions) -> Option<u64> {
    number(conditions, NIC_SPEED)
}

/// Returns warnings about the conditions of one node that can disturb a measurement for `purpose`.
/// They do not contain the node's name.
pub fn beware(conditions: &Conditions, purpose: Purpose) -> Vec<String> {
    let judges: [fn(&Conditions, Purpose) -> Option<String>; 8] =
        [governor, load, affinity, idle, polling, numa, offloads, clock];
    let warnings = judges.iter().filter_map(|judge| judge(conditions, purpose));
    warnings.map(|warning| printable::line(&warning)).collect()
}

fn number<T: std::str::FromStr>(conditions: &Conditions, wanted: &str) -> Option<T> {
    value(conditions, wanted)?.parse().ok()
}

fn governor(conditions: &Conditions, _: Purpose) -> Option<String> {
    let governor = value(conditions, "governor").filter(|&governor| governor != "performance")?;
    Some(format!("its CPU governor is {governor}: the CPU frequency may be low; use performance"))
}

fn load(conditions: &Conditions, _: Purpose) -> Option<String> {
    let cpus: f64 = number(conditions, "cpus")?;
    let load: f64 = number(conditions, "load").filter(|load| *load > cpus * BUSY)?;
    Some(format!("other work is running: a load of {load} on {cpus} CPUs"))
}

fn affinity(conditions: &Conditions, _: Purpose) -> Option<String> {
    let (cpus, online): (usize, usize) =
        (number(conditions, "cpus")?, number(conditions, "cpus online")?);
    let which = value(conditions, "affinity")?;
    (cpus < online).then(|| format!("it may use only {cpus} of {online} CPUs ({which})"))
}

fn idle(conditions: &Conditions, purpose: Purpose) -> Option<String> {
    let wake: f64 = number(conditions, "wake, us").filter(|wake| *wake > SLOW_TO_WAKE)?;
    let state = value(conditions, "idle state").unwrap_or("(unknown)");
    (purpose == Purpose::Times { polls: false }).then(|| {
        format!("its CPUs may enter the idle state {state}, which takes {wake} µs to leave")
    })
}

fn polling(conditions: &Conditions, purpose: Purpose) -> Option<String> {
    let alone = number::<usize>(conditions, "cpus") == Some(1);
    (alone && purpose == Purpose::Times { polls: true })
        .then(|| "it polls on its only CPU, so other processes wait".to_owned())
}

/// Warns if the agent may use CPUs outside of the NIC's NUMA node, so that packets cross between
/// NUMA nodes.
fn numa(conditions: &Conditions, _: Purpose) -> Option<String> {
    let own = value(conditions, "affinity")?;
    let near = value(conditions, "nic cpus")?;
    let own = cpu_list(own)?;
    let near = cpu_list(near)?;
    let nic = value(conditions, "nic").unwrap_or("its NIC");
    let node = value(conditions, "numa node").unwrap_or("another");
    let far = own.iter().filter(|cpu| !near.contains(cpu)).count();
    match far {
        0 => None,
        far if far == own.len() => Some(format!(
            "{nic} is on NUMA node {node}, but all CPUs that its agent may use are on others"
        )),
        far => Some(format!(
            "{nic} is on NUMA node {node}, but {far} of the {} CPUs that its agent may use are on \
             others: use only CPUs of node {node}",
            own.len()
        )),
    }
}

fn offloads(conditions: &Conditions, _: Purpose) -> Option<String> {
    let offloads = value(conditions, "offloads")?;
    let off = |name: &str| offloads.split(", ").any(|one| one == format!("{name} off"));
    let missing: Vec<&str> = ["tso", "gro"].into_iter().filter(|name| off(name)).collect();
    let fast = nic_speed(conditions).is_some_and(|speed| speed >= FAST);
    (fast && !missing.is_empty()).then(|| {
        format!("{} of its NIC is off, so its CPUs handle every packet", missing.join(" and "))
    })
}

fn clock(conditions: &Conditions, _: Purpose) -> Option<String> {
    value(conditions, "clock").map(|clock| format!("its clock {clock}"))
}

/// Parses a CPU list of the kernel: `0-3,8`. `None` for anything else, and for CPU numbers beyond
/// the kernel's maximum.
fn cpu_list(text: &str) -> Option<Vec<u16>> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to): (u16, u16) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        all.extend((from <= to && to < 1 << 13).then_some(from..=to)?);
    }
    Some(all)
}

/// Describes conditions that should be equal on all `nodes` but differ: each value with its nodes,
/// formatted by `fold`. Empty if all are equal.
pub fn differences(nodes: &[(&str, &Conditions)], fold: &dyn Fn(&[&str]) -> String) -> Vec<String> {
    /// The conditions that should be equal.
    const SAME: [&str; 5] = ["mtu", "path mtu", "congestion control", "offloads", NIC_SPEED];
    let differing = |name: &&str| {
        let mut values: Vec<(&str, Vec<&str>)> = Vec::new();
        for (node, conditions) in nodes {
            let Some(found) = value(conditions, name) else { continue };
            match values.iter_mut().find(|(known, _)| *known == found) {
                Some((_, of)) => of.push(node),
                None => values.push((found, vec![node])),
            }
        }
        // Rare values first: they are probably wrong.
        values.sort_by_key(|(_, of)| of.len());
        let told = values.iter().map(|(value, of)| format!("{value} on {}", fold(of)));
        (values.len() > 1)
            .then(|| format!("{name} differs: {}", told.collect::<Vec<_>>().join("; ")))
    };
    SAME.iter().filter_map(differing).map(|line| printable::line(&line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions(all: &[(&str, &str)]) -> Conditions {
        all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    const TIMES: Purpose = Purpose::Times { polls: false };

    #[test]
    fn a_value_cannot_begin_a_line_of_its_own() {
        let forged = "powersave\nok      n[1-9]";
        let names = ["governor", "idle state", "clock", "mtu"];
        let mut all = conditions(&names.map(|name| (name, forged)));
        all.extend(conditions(&[("wake, us", "133")]));
        let other = conditions(&[("mtu", "1500")]);
        let mut lines = beware(&all, TIMES);
        lines.extend(differences(&[("n1", &all), ("n2", &other)], &|names| names.join(",")));
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(lines.iter().all(|line| line.contains("powersave\\nok") && !line.contains('\n')));
    }

    #[test]
    fn a_quiet_node_is_not_warned_about() {
        let quiet = conditions(&[
            ("cpus", "8"),
            ("cpus online", "8"),
            ("affinity", "0-7"),
            ("governor", "performance"),
            ("load", "0.30"),
            ("idle state", "C1"),
            ("wake, us", "2"),
            ("nic cpus", "0-7"),
            ("offloads", "tso on, gro on"),
            ("speed, bit/s", "25000000000"),
        ]);
        assert_eq!(beware(&quiet, TIMES), Vec::<String>::new());
        assert_eq!(beware(&Vec::new(), Purpose::Rates), Vec::<String>::new());
    }

    #[test]
    fn each_guard_rail_has_its_words() {
        let said = |all: &[(&str, &str)], purpose| beware(&conditions(all), purpose).join("; ");
        assert!(said(&[("governor", "powersave")], TIMES).contains("governor is powersave"));
        assert!(said(&[("cpus", "2"), ("load", "1.5")], TIMES).contains("a load of 1.5 on 2"));
        let few = [("cpus", "2"), ("cpus online", "4"), ("affinity", "0-1")];
        assert!(said(&few, Purpose::Rates).contains("only 2 of 4 CPUs (0-1)"));
        let deep = [("idle state", "C6"), ("wake, us", "133")];
        assert!(said(&deep, TIMES).contains("state C6, which takes 133 µs"));
        assert_eq!(said(&deep, Purpose::Rates), "");
        assert!(said(&[("cpus", "1")], Purpose::Times { polls: true }).contains("it polls"));
        let far = [("affinity", "0-3"), ("nic cpus", "4-7"), ("numa node", "1"), ("nic", "eth0")];
        assert!(said(&far, TIMES).contains("eth0 is on NUMA node 1, but all CPUs"));
        let half = [("affinity", "2-5"), ("nic cpus", "4-7"), ("numa node", "1")];
        assert!(
            said(&half, TIMES).contains("2 of the 4 CPUs that its agent may use are on others")
        );
        let slow = [("offloads", "tso off, gro on"), ("speed, bit/s", "10000000000")];
        assert!(said(&slow, Purpose::Rates).contains("tso of its NIC is off"));
        let changed = [("clock", "was changed by 3 s")];
        assert!(said(&changed, TIMES).contains("its clock was changed by 3 s"));
    }

    #[test]
    fn lists_of_cpus_are_read_and_others_are_not() {
        assert_eq!(cpu_list("0-2,8"), Some(vec![0, 1, 2, 8]));
        for wrong in ["", "a", "3-1", "1-", "0-65535", "-1"] {
            assert_eq!(cpu_list(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_differs_is_told_with_the_odd_ones_first() {
        let [usual, odd] = ["1500", "9000"].map(|mtu| conditions(&[("mtu", mtu)]));
        let nodes = [("n1", &usual), ("n2", &odd), ("n3", &usual)];
        let fold = |names: &[&str]| names.join(",");
        assert_eq!(differences(&nodes, &fold), ["mtu differs: 9000 on n2; 1500 on n1,n3"]);
        assert_eq!(differences(&nodes[..1], &fold), Vec::<String>::new());
    }
}
