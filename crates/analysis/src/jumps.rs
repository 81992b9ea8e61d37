//! Jumps of times over sizes: where a transport switches to another method (fewer copies, an
//! additional message, a full packet).

use super::line::fit_line;

/// A point is on another line if its relative distance from the line of the previous points exceeds
/// this.
const MAX_DEVIATION: f64 = 0.25;

/// The minimum number of points that define a line.
const FEWEST: usize = 3;

/// Returns the indices in `points` (size, time; sizes ascending) at which times begin to follow
/// another line. At such an index, the point and the next one are off the previous line by more
/// than a quarter, in the same direction. A single point that is off is noise.
pub fn find_jumps(points: &[(f64, f64)]) -> Vec<usize> {
    let mut jumps = Vec::new();
    // The points of the current line.
    let mut followed: Vec<(f64, f64)> = Vec::new();
    for (at, &point) in points.iter().enumerate() {
        let line = fit_line(&followed).filter(|_| followed.len() >= FEWEST);
        let off = |&(size, time): &(f64, f64)| {
            let line = line?;
            let expected = line.at_zero + line.slope.max(0.0) * size;
            Some(time / expected.max(f64::MIN_POSITIVE) - 1.0)
                .filter(|off| off.abs() > MAX_DEVIATION)
        };
        match (off(&point), points.get(at + 1).and_then(&off)) {
            (Some(this), Some(next)) if (this > 0.0) == (next > 0.0) => {
                jumps.push(at);
                followed = vec![point];
            }
            (Some(_), _) => {}
            (None, _) => followed.push(point),
        }
    }
    jumps
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sizes() -> impl Iterator<Item = f64> {
        (3..17).map(|power| f64::from(1 << power))
    }

    #[test]
    fn a_switch_of_protocols_is_found() {
        // Up to 4 KiB in one message; above, one more round trip and fewer copies.
        let eager = |size: f64| 2000.0 + size;
        let rendezvous = |size: f64| 6000.0 + 0.4 * size;
        let time = |size| if size <= 4096.0 { eager(size) } else { rendezvous(size) };
        let points: Vec<_> = sizes().map(|size| (size, time(size))).collect();
        let at: Vec<f64> = find_jumps(&points).into_iter().map(|at| points[at].0).collect();
        assert!(!at.is_empty() && [8192.0, 16384.0].contains(&at[0]), "{at:?}");
    }

    #[test]
    fn a_step_up_is_found_where_it_is_and_one_odd_point_is_not() {
        let step = |size: f64| if size < 1024.0 { 10.0 } else { 20.0 };
        let points: Vec<_> = sizes().map(|size| (size, step(size) + size * 1e-4)).collect();
        assert_eq!(
            find_jumps(&points).into_iter().map(|at| points[at].0).collect::<Vec<_>>(),
            [1024.0]
        );
        let mut odd: Vec<_> = sizes().map(|size| (size, 10.0 + size * 1e-4)).collect();
        odd[6].1 *= 3.0;
        assert_eq!(find_jumps(&odd), Vec::<usize>::new());
        assert_eq!(find_jumps(&[]), Vec::<usize>::new());
    }

    proptest! {
        #[test]
        fn a_straight_line_has_no_jump(at_zero in 1.0..1e5_f64, slope in 0.0..10.0_f64, seed: u64) {
            // Times are off by up to 2 %.
            let noise = |at: u64| 1.0 + 0.04 * ((seed.rotate_left(at as u32 * 7) % 1000) as f64 / 1000.0 - 0.5);
            let points: Vec<_> = sizes().zip(0..).map(|(size, at)| (size, (at_zero + slope * size) * noise(at))).collect();
            prop_assert_eq!(find_jumps(&points), Vec::<usize>::new());
        }
    }
}
