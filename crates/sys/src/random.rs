//! Random bytes from getrandom(2).

use rustix::rand::{GetRandomFlags, getrandom};

use crate::world;

/// Returns `N` random bytes of cryptographic quality.
///
/// # Panics
/// When getrandom(2) fails, which does not happen once the system has booted.
#[must_use]
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let mut done = if world::fill(&mut bytes) { N } else { 0 };
    while done < N {
        done += getrandom(&mut bytes[done..], GetRandomFlags::empty())
            .expect("getrandom works on a booted kernel");
    }
    bytes
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_draws_differ() {
        assert_ne!(super::bytes::<32>(), super::bytes::<32>());
    }
}
