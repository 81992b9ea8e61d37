//! Simulates file transfers that start at the same time.

use super::fluid::Fluid;
use super::network::{Network, Use};

/// The transfer of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// The size of the file in bytes.
    pub bytes: f64,
    /// The use of the resources per byte.
    pub uses: Vec<Use>,
}

/// Returns the time at which each transfer ends, in seconds, if all start at the same time;
/// infinite if a resource on its path has the rate 0.
#[must_use]
pub fn transfers(network: &Network, all: &[Transfer]) -> Vec<f64> {
    let mut fluid = Fluid::new(network);
    for (tag, one) in all.iter().enumerate() {
        fluid.flow(tag, one.bytes, one.uses.clone());
    }
    let mut ends = vec![f64::INFINITY; all.len()];
    while let Some(ended) = fluid.next(None) {
        ended.into_iter().for_each(|tag| ends[tag] = fluid.now);
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_done_leaves_room_to_the_others() {
        let mut network = Network::new();
        let wire = network.add("wire", 10.0);
        let disk = network.add("disk", 4.0);
        let of = |bytes: f64, uses: &[Use]| Transfer { bytes, uses: uses.to_vec() };
        let all = [
            of(20.0, &[(wire, 1.0)]),
            of(40.0, &[(wire, 1.0)]),
            // Read from a disk and written to it.
            of(8.0, &[(disk, 2.0)]),
            of(0.0, &[(disk, 2.0)]),
        ];
        let ends = transfers(&network, &all);
        for (end, wanted) in ends.iter().zip([4.0, 6.0, 4.0, 0.0]) {
            assert!((end - wanted).abs() < 1e-6, "{ends:?}");
        }
        let dead = network.add("cut", 0.0);
        assert_eq!(transfers(&network, &[of(1.0, &[(dead, 1.0)])]), [f64::INFINITY]);
    }
}
