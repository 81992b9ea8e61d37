//! Randomness from the kernel.

use rustix::rand::{GetRandomFlags, getrandom};

/// Random bytes, fit for keys.
///
/// # Panics
/// When the kernel has no randomness, which it has from the moment it has booted.
#[must_use]
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let mut done = 0;
    while done < N {
        done += getrandom(&mut bytes[done..], GetRandomFlags::empty())
            .expect("a booted kernel has randomness");
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
