//! The parameters of LogGP (Alexandrov, Ionescu, Schauser and Scheiman, 1995): latency L, overhead
//! o, gap g, and gap per byte G.

use super::line::fit_line;

/// The LogGP parameters of a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogGp {
    /// The latency L of a byte in nanoseconds, without the work of the CPUs.
    pub latency_ns: f64,
    /// The overhead o: nanoseconds in which a CPU is busy sending or receiving one message.
    pub overhead_ns: f64,
    /// The gap g: nanoseconds between messages at the highest rate.
    pub gap_ns: f64,
    /// The gap per byte G in nanoseconds; `None` if only one size was measured.
    pub gap_per_byte_ns: Option<f64>,
    /// The fraction of the variance that a line of times over sizes explains, from 0 to 1; `None`
    /// if only one size was measured.
    pub fit: Option<f64>,
}

/// The measurements that determine the parameters.
#[derive(Clone, Copy, Debug)]
pub struct Network<'a> {
    /// The time of a round trip with no other operation in flight, in nanoseconds.
    pub round_trip_ns: f64,
    /// The time to hand one message to the network, in nanoseconds.
    pub sending_ns: f64,
    /// Whether the target's CPU takes part in an operation.
    pub is_served: bool,
    /// Nanoseconds per operation with the best number of operations in flight.
    pub best_each_ns: f64,
    /// For each measured size in bytes, the size and the one-way time in nanoseconds.
    pub sizes: &'a [(f64, f64)],
}

/// Computes the parameters of a network.
///
/// A round trip consists of two latencies and one overhead per send or receive: four if the
/// target's CPU takes part, otherwise the initiator's two. The model assumes that receiving costs
/// as much as sending.
pub fn loggp(network: &Network<'_>) -> LogGp {
    let Network { round_trip_ns, sending_ns, is_served, best_each_ns, sizes } = *network;
    let overheads = if is_served { 4.0 } else { 2.0 };
    let line = fit_line(sizes);
    LogGp {
        latency_ns: ((round_trip_ns - overheads * sending_ns) / 2.0).max(0.0),
        overhead_ns: sending_ns,
        gap_ns: best_each_ns,
        gap_per_byte_ns: line.map(|line| line.slope.max(0.0)),
        fit: line.map(|line| line.fit),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_networks_parameters_are_found_again(l in 100.0..1e5_f64, o in 1.0..1e4_f64, g in 1.0..1e5_f64, per_byte in 0.01..10.0_f64) {
            let sizes: Vec<_> = (3..17).map(|power| f64::from(1 << power)).map(|size| (size, l + 2.0 * o + (size - 1.0) * per_byte)).collect();
            let found = loggp(&Network {
                round_trip_ns: 2.0 * l + 4.0 * o,
                sending_ns: o,
                is_served: true,
                best_each_ns: g,
                sizes: &sizes,
            });
            prop_assert!((found.latency_ns - l).abs() < 1e-6 * l);
            prop_assert!((found.gap_per_byte_ns.unwrap() - per_byte).abs() < 1e-6);
            prop_assert_eq!((found.overhead_ns, found.gap_ns), (o, g));
            prop_assert!(found.fit.unwrap() > 0.999);
        }
    }

    #[test]
    fn one_sided_operations_cost_the_target_nothing() {
        let network = Network {
            round_trip_ns: 2360.0,
            sending_ns: 180.0,
            is_served: false,
            best_each_ns: 790.0,
            sizes: &[],
        };
        let found = loggp(&network);
        assert_eq!((found.latency_ns, found.gap_per_byte_ns), (1000.0, None));
        assert_eq!(loggp(&Network { sending_ns: 1e4, ..network }).latency_ns, 0.0);
    }
}
