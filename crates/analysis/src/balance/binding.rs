//! Determines the resource that concurrent copies wait for.

use serde::Serialize;

/// The minimum utilization, from 0 to 1, of a resource that is reported as the bottleneck.
const NAMED: f64 = 0.8;

/// The maximum difference between the utilizations of two resources that count as equally used.
const ALIKE: f64 = 0.1;

/// A copy counts as one of the last if it is shorter than the longest copy by at most this
/// fraction.
const LAST: f64 = 0.05;

/// A resource that a copy uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Resource {
    /// The disks of source and destination.
    Disk,
    /// The network between source and destination.
    Network,
    /// The CPUs of source and destination.
    Cpu,
}

impl Resource {
    /// All resources, in the order in which they are declared.
    pub const ALL: [Self; 3] = [Self::Disk, Self::Network, Self::Cpu];
}

/// The times of one copy, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Took {
    /// The duration of the copy.
    pub seconds: f64,
    /// The time in which the busier of the copy's two disks was in use.
    pub disk: f64,
    /// The time in which bytes were in flight and the receiver had buffer space.
    pub network: f64,
    /// The time in which the busiest thread of the copy ran, or waited for a CPU.
    pub cpu: f64,
}

impl Took {
    /// Returns the time in which a resource was in use, at most the duration.
    fn of(&self, resource: Resource) -> f64 {
        let used = match resource {
            Resource::Disk => self.disk,
            Resource::Network => self.network,
            Resource::Cpu => self.cpu,
        };
        used.clamp(0.0, self.seconds.max(0.0))
    }

    /// Returns the most used resource; `None` if it was in use for less than 80 % of the duration.
    fn held_by(&self) -> Option<Resource> {
        let more = |one: &Resource, two: &Resource| self.of(*one).total_cmp(&self.of(*two));
        let most = Resource::ALL.into_iter().max_by(more);
        most.filter(|&resource| self.of(resource) >= NAMED * self.seconds)
    }

    /// Returns the predicted duration in seconds if `faster` were `factor` times as fast.
    fn with(&self, faster: Resource, factor: f64) -> f64 {
        let most = |factor: f64| {
            let needs = Resource::ALL.map(|one| match one == faster {
                true => self.of(one) / factor,
                false => self.of(one),
            });
            needs.into_iter().fold(0.0, f64::max)
        };
        self.seconds - most(1.0) + most(factor)
    }
}

/// The utilization of the resources, each from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    /// The utilization of the busier disk of each copy.
    pub disk: f64,
    /// The utilization of the network.
    pub network: f64,
    /// The utilization of the CPUs.
    pub cpu: f64,
}

/// The bottleneck of concurrent copies. It is judged by the last copies, those that end within 5 %
/// of the longest duration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Binding {
    /// The bottleneck of most of the last copies. The bottleneck of one copy is its most used
    /// resource, if that was in use for at least 80 % of the copy's time. `None` unless the two
    /// most frequent bottlenecks cover at least 80 % of the last copies.
    pub resource: Option<Resource>,
    /// A second resource: the bottleneck of other last copies, or one whose mean utilization is at
    /// most 0.1 below that of `resource`; `None` if there is none.
    pub rival: Option<Resource>,
    /// The mean utilization of each resource during the last copies.
    pub shares: Shares,
}

/// Returns the bottleneck of concurrent `copies`, as judged by those that end last.
pub fn bind(copies: &[Took]) -> Binding {
    let slowest = longest(copies.iter().map(|copy| copy.seconds));
    let last = copies.iter().filter(|copy| copy.seconds > 0.0);
    let last: Vec<&Took> = last.filter(|copy| copy.seconds >= slowest * (1.0 - LAST)).collect();
    let count = last.len().max(1) as f64;
    let share =
        |resource| last.iter().map(|copy| copy.of(resource) / copy.seconds).sum::<f64>() / count;
    let [disk, network, cpu] = Resource::ALL.map(share);
    // Copies that end together can have different bottlenecks.
    let votes = |resource| {
        let held = last.iter().filter(|copy| copy.held_by() == Some(resource));
        (held.count() as f64 / count, share(resource))
    };
    let mut ranks = Resource::ALL.map(|resource| (resource, votes(resource)));
    ranks.sort_by(|(_, one), (_, two)| two.0.total_cmp(&one.0).then(two.1.total_cmp(&one.1)));
    let [(first, (most, share)), (second, (fewer, next)), _] = ranks;
    let named = most + fewer >= NAMED && most > 0.0;
    Binding {
        resource: named.then_some(first),
        rival: (named && (fewer > 0.0 || next >= share - ALIKE)).then_some(second),
        shares: Shares { disk, network, cpu },
    }
}

/// Returns the predicted time, in seconds, until all `copies` have ended, if the resource `faster`
/// were `factor` times as fast.
pub fn forecast(copies: &[Took], faster: Resource, factor: f64) -> f64 {
    longest(copies.iter().map(|copy| copy.with(faster, factor)))
}

fn longest(seconds: impl Iterator<Item = f64>) -> f64 {
    seconds.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LOCAL: Took = Took { seconds: 2.0, disk: 1.96, network: 0.0, cpu: 0.2 };

    fn remote(seconds: f64) -> Took {
        Took { seconds, disk: 1.0, network: 0.98 * seconds, cpu: 0.2 }
    }

    #[test]
    fn the_last_copies_say_what_binds() {
        let bound = bind(&[LOCAL, LOCAL, remote(1.0)]);
        assert_eq!((bound.resource, bound.rival), (Some(Resource::Disk), None));
        let bound = bind(&[LOCAL, remote(6.0), remote(5.9)]);
        assert_eq!(bound.resource, Some(Resource::Network));
        assert!((bound.shares.network - 0.98).abs() < 1e-9 && bound.shares.disk < 0.2);
        let bound = bind(&[LOCAL, LOCAL, remote(2.02)]);
        assert_eq!(bound.resource, Some(Resource::Disk), "two of the last three: {bound:?}");
        assert_eq!(bound.rival, Some(Resource::Network));
    }

    #[test]
    fn nothing_is_named_that_was_idle() {
        let idle = Took { seconds: 1.0, disk: 0.5, network: 0.7, cpu: 0.1 };
        assert_eq!(bind(&[idle]).resource, None);
        assert_eq!(bind(&[]).resource, None);
        assert_eq!(bind(&[Took::default()]).resource, None);
        let even = Took { seconds: 1.0, disk: 0.95, network: 0.9, cpu: 0.1 };
        let bound = bind(&[even]);
        assert_eq!(bound.resource, Some(Resource::Disk));
        assert_eq!(bound.rival, Some(Resource::Network));
    }

    #[test]
    fn a_faster_disk_helps_until_the_next_thing_binds() {
        let all = [LOCAL, remote(1.5)];
        let [twice, tenfold] = [2.0, 10.0].map(|factor| forecast(&all, Resource::Disk, factor));
        assert!((twice - 1.5).abs() < 1e-9, "the remote copy is last then: {twice}");
        assert!((tenfold - 1.5).abs() < 1e-9);
        let wire = forecast(&all, Resource::Network, 2.0);
        assert!((wire - 2.0).abs() < 1e-9, "local copies don't care: {wire}");
        let wire = forecast(&[remote(4.0)], Resource::Network, 2.0);
        assert!((wire - (4.0 - 3.92 + 1.96)).abs() < 1e-9, "{wire}");
        let wire = forecast(&[remote(4.0)], Resource::Network, 10.0);
        assert!((wire - (4.0 - 3.92 + 1.0)).abs() < 1e-9, "then its disk binds: {wire}");
    }

    proptest! {
        #[test]
        fn faster_is_never_slower_and_never_more_than_that(
            copies in proptest::collection::vec(
                (0.0..10.0_f64, 0.0..12.0_f64, 0.0..12.0_f64, 0.0..12.0_f64), 0..8),
            factor in 1.0..10.0_f64,
        ) {
            let copies: Vec<Took> = copies
                .into_iter()
                .map(|(seconds, disk, network, cpu)| Took { seconds, disk, network, cpu })
                .collect();
            let now = copies.iter().map(|copy| copy.seconds).fold(0.0, f64::max);
            for resource in Resource::ALL {
                let then = forecast(&copies, resource, factor);
                prop_assert!(then <= now + 1e-9 && then >= now / factor - 1e-9, "{then} {now}");
            }
        }
    }
}
