//! The balance between disks and network: the number of remote copies up to which the network costs
//! nothing.

use super::Resource;

/// The bottleneck with a given number of remote copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The number of copies over the network.
    pub remote: usize,
    /// The bottleneck; `None` if unknown.
    pub binds: Option<Resource>,
}

/// The balance between disks and network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// With up to this number of remote copies, another resource is the bottleneck; with more, the
    /// network is.
    At(usize),
    /// The network is the bottleneck with any remote copy.
    AtOnce,
    /// The network is never the bottleneck.
    Never,
    /// Unknown: no copy was remote, or no resource was in use all the time.
    Unknown,
}

/// Returns the balance of `points`, which are in ascending order of remote copies.
pub fn balance(points: &[Point]) -> Balance {
    let is_network = |point: &Point| point.binds == Some(Resource::Network);
    let remote = || points.iter().filter(|point| point.remote > 0);
    // A single point can be noise, so look for the point from which on the bottleneck stays.
    let free = remote().filter(|point| !is_network(point)).map(|point| point.remote).max();
    let bound = remote().filter(|point| is_network(point)).map(|point| point.remote);
    let first = bound.clone().find(|&at| free.is_none_or(|free| at > free));
    match (free, first.or_else(|| bound.min())) {
        (None, None) => Balance::Unknown,
        (None, Some(_)) => Balance::AtOnce,
        (Some(_), None) if remote().all(|point| point.binds.is_none()) => Balance::Unknown,
        (Some(_), None) => Balance::Never,
        (Some(_), Some(first)) => {
            let before = points.iter().filter(|point| point.remote < first);
            match before.map(|point| point.remote).max() {
                None | Some(0) => Balance::AtOnce,
                Some(last) => Balance::At(last),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(binds: &[Option<Resource>]) -> Vec<Point> {
        let point = |(remote, &binds)| Point { remote, binds };
        binds.iter().enumerate().map(point).collect()
    }

    const D: Option<Resource> = Some(Resource::Disk);
    const N: Option<Resource> = Some(Resource::Network);

    #[test]
    fn it_lies_where_the_network_begins_to_bind() {
        assert_eq!(balance(&points(&[D, D, N, N])), Balance::At(1));
        assert_eq!(balance(&points(&[D, D, D, N])), Balance::At(2));
        assert_eq!(balance(&points(&[D, N, N, N])), Balance::AtOnce);
        assert_eq!(balance(&points(&[D, D, None, D])), Balance::Never);
    }

    #[test]
    fn what_nothing_proves_is_unknown() {
        assert_eq!(balance(&points(&[])), Balance::Unknown);
        assert_eq!(balance(&points(&[D])), Balance::Unknown);
        assert_eq!(balance(&points(&[D, None, None])), Balance::Unknown);
    }

    #[test]
    fn one_point_of_noise_does_not_move_it() {
        assert_eq!(balance(&points(&[D, N, D, D, N, N])), Balance::At(3));
        assert_eq!(balance(&points(&[D, D, N, N, None])), Balance::At(1));
    }
}
