//! Closed queueing networks by mean value analysis (Reiser and Lavenberg, Mean-Value Analysis of
//! Closed Multichain Queuing Networks, 1980): nodes that use the same resources one after another,
//! or gets that are in flight together.

/// Returns the duration of a cycle in seconds for each number of nodes from 1 to `most`. A cycle is
/// a node's own work and one use of each shared resource, with waiting. `own` is the time of a
/// node's own work, and `demands` are the times of one use of each resource, in seconds.
pub fn cycles(own: f64, demands: &[f64], most: u32) -> Vec<f64> {
    let mut waiting = vec![0.0; demands.len()];
    let cycle = |nodes: u32| {
        let times: Vec<f64> =
            demands.iter().zip(&waiting).map(|(demand, before)| demand * (1.0 + before)).collect();
        let whole = own + times.iter().sum::<f64>();
        let each = if whole > 0.0 { f64::from(nodes) / whole } else { 0.0 };
        waiting = times.iter().map(|time| time * each).collect();
        whole
    };
    (1..=most).map(cycle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_node_waits_for_nobody_and_many_for_the_slowest_resource() {
        let lengths = cycles(9.0, &[1.0, 0.5], 200);
        assert!((lengths[0] - 10.5).abs() < 1e-12);
        assert!((lengths[199] / 200.0 - 1.0).abs() < 1e-6, "{}", lengths[199]);
        assert!(lengths.windows(2).all(|pair| pair[1] >= pair[0]));
    }

    #[test]
    fn what_is_not_shared_never_waits() {
        assert_eq!(cycles(2.0, &[], 3), [2.0, 2.0, 2.0]);
        assert_eq!(cycles(0.0, &[], 2), [0.0, 0.0]);
    }
}
