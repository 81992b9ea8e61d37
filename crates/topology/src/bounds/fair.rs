//! Max-min fair rates: all rates rise together; flows of a full resource keep their rates.

/// The index of a resource, and the amount of it that one unit of a flow takes.
pub type Use = (usize, f64);

/// Returns the rate of each flow, in the unit of `capacity`. No rate can be raised without lowering
/// one that is not higher. A flow that uses no resource has an infinite rate.
pub fn fair_rates(capacity: &[f64], flows: &[&[Use]]) -> Vec<f64> {
    let mut left = capacity.to_vec();
    let mut rates = vec![0.0; flows.len()];
    let mut rising: Vec<usize> = (0..flows.len()).collect();
    let mut demand = vec![0.0; capacity.len()];
    let mut touched: Vec<usize> = Vec::new();
    while !rising.is_empty() {
        for place in touched.drain(..) {
            demand[place] = 0.0;
        }
        for &(place, weight) in rising.iter().flat_map(|&flow| flows[flow]) {
            if demand[place] == 0.0 {
                touched.push(place);
            }
            demand[place] += weight;
        }
        let room = |place: &usize| left[*place].max(0.0) / demand[*place];
        let step = touched.iter().map(room).fold(f64::INFINITY, f64::min);
        rising.iter().for_each(|&flow| rates[flow] += step);
        if step.is_infinite() {
            break;
        }
        for &place in &touched {
            left[place] -= step * demand[place];
        }
        // Rounding errors: sums of fractions rarely reach zero.
        let full = |place: usize| left[place] <= capacity[place] * 1e-9;
        let before = rising.len();
        rising.retain(|&flow| !flows[flow].iter().any(|&(place, _)| full(place)));
        if rising.len() == before {
            break;
        }
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_book() {
        // Two flows on each link; one of them is on both links.
        let flows: [&[Use]; 3] = [&[(0, 1.0)], &[(0, 1.0), (1, 1.0)], &[(1, 1.0)]];
        assert_eq!(fair_rates(&[1.0, 4.0], &flows), [0.5, 0.5, 3.5]);
    }

    #[test]
    fn what_crosses_something_twice_is_half_as_fast_and_what_crosses_nothing_is_free() {
        let flows: [&[Use]; 2] = [&[(0, 2.0)], &[]];
        assert_eq!(fair_rates(&[10.0], &flows), [5.0, f64::INFINITY]);
        assert_eq!(fair_rates(&[0.0], &[&[(0, 1.0)]]), [0.0]);
    }
}
