//! Striped files: units that alternate between several servers.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{LaneBlocks, Layout, LayoutError};

/// The maximum number of servers of a striped file: each has a lane.
pub const STRIPE_SERVERS_MAX: u16 = 64;

/// The minimum unit in bytes: blocks are not smaller, and never cross a unit.
const UNIT_MIN: u64 = 4 << 10;

/// The maximum unit in bytes.
const UNIT_MAX: u64 = 4 << 30;

/// A striped file: unit 0 is on the first server, unit 1 on the second, and so on in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stripes {
    /// The length of the file in bytes.
    pub length: u64,
    /// The length in bytes of every unit but the last.
    pub unit: u64,
    /// The number of servers.
    pub servers: u16,
}

/// The stripe of one server: every `of`-th unit, beginning with unit `number`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stripe {
    /// The length of a unit in bytes.
    pub unit: u64,
    /// The index of the server, from 0.
    pub number: u16,
    /// The number of servers, and so of stripes.
    pub of: u16,
}

/// The error for impossible stripes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StripesError {
    /// The unit has this many bytes, which is out of range.
    #[error("the stripe unit is {0} bytes: use a multiple of 4 KiB up to 4 GiB")]
    Unit(u64),
    /// This number of servers is out of range.
    #[error("the file cannot be striped over {0} servers: use 1 to {STRIPE_SERVERS_MAX}")]
    Servers(usize),
    /// The unit is not a multiple of the block size.
    #[error(
        "stripe units of {unit} bytes cannot be divided into blocks of {block} bytes: use a block size that divides the unit"
    )]
    Block {
        /// The block size in bytes.
        block: u32,
        /// The unit in bytes.
        unit: u64,
    },
    /// The block size is out of range.
    #[error("{0}")]
    Layout(#[from] LayoutError),
}

impl Stripes {
    /// Returns the stripes of a file of `length` bytes over `servers` servers.
    ///
    /// # Errors
    /// If the unit is not a multiple of 4 KiB up to 4 GiB, or there are not 1 to 64 servers.
    pub fn new(length: u64, unit: u64, servers: usize) -> Result<Self, StripesError> {
        if !(UNIT_MIN..=UNIT_MAX).contains(&unit) || !unit.is_multiple_of(UNIT_MIN) {
            return Err(StripesError::Unit(unit));
        }
        match u16::try_from(servers) {
            Ok(servers @ 1..=STRIPE_SERVERS_MAX) => Ok(Self { length, unit, servers }),
            _ => Err(StripesError::Servers(servers)),
        }
    }

    /// Divides the file into blocks of `block` bytes, which never cross a unit.
    ///
    /// # Errors
    /// If the unit is not a multiple of the block size, the block size is out of range, or there
    /// are too many blocks.
    pub fn layout(&self, block: u32) -> Result<Layout, StripesError> {
        if block == 0 || !self.unit.is_multiple_of(u64::from(block)) {
            return Err(StripesError::Block { block, unit: self.unit });
        }
        Ok(Layout::new(self.length, block)?)
    }

    /// Divides the file into blocks of a suitable size: the unit, halved until it is at most the
    /// size that [`Layout::fitting`] chooses.
    ///
    /// # Errors
    /// If the file is too long for one copy.
    pub fn fitting_layout(&self) -> Result<Layout, StripesError> {
        let wanted = u64::from(Layout::fitting(self.length).block_size);
        let mut block = self.unit;
        while block > wanted && block / 2 >= UNIT_MIN && block.is_multiple_of(2) {
            block /= 2;
        }
        self.layout(u32::try_from(block).unwrap_or(u32::MAX))
    }

    /// Returns the blocks of server `number`. The unit must be a multiple of the block size of
    /// `layout`.
    pub fn blocks(&self, layout: Layout, number: u16) -> LaneBlocks {
        let run = (self.unit / u64::from(layout.block_size)).max(1);
        let first = run * u64::from(number);
        let step = run * u64::from(self.servers);
        let blocks = layout.blocks();
        LaneBlocks { first: first.min(blocks), run, step, end: blocks }
    }

    /// Returns the stripe of server `number`.
    pub fn stripe(&self, number: u16) -> Stripe {
        Stripe { unit: self.unit, number, of: self.servers }
    }
}

impl Stripe {
    /// Returns the length in bytes of this stripe of a file of `length` bytes.
    pub fn length(&self, length: u64) -> u64 {
        let number = u64::from(self.number);
        let of = u64::from(self.of);
        let whole = length / self.unit;
        let units = (whole + of - 1 - number) / of;
        let last = if whole % of == number { length % self.unit } else { 0 };
        units * self.unit + last
    }

    /// Converts the file's `offset`, which must be in one of the stripe's units, to the offset in
    /// the stripe.
    pub fn offset(&self, offset: u64) -> u64 {
        offset / self.unit / u64::from(self.of) * self.unit + offset % self.unit
    }

    /// Returns whether all values are in range.
    pub fn is_sound(&self) -> bool {
        self.number < self.of && Stripes::new(0, self.unit, usize::from(self.of)).is_ok()
    }

    /// Returns the suffix of the stripe's file after the file's name: `.stripe-2of4`.
    pub fn suffix(&self) -> String {
        format!(".stripe-{}of{}", self.number + 1, self.of)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn units_that_cannot_be_are_refused() {
        assert_eq!(Stripes::new(1, 5000, 2), Err(StripesError::Unit(5000)));
        assert_eq!(Stripes::new(1, 4096, 0), Err(StripesError::Servers(0)));
        assert_eq!(Stripes::new(1, 4096, 65), Err(StripesError::Servers(65)));
        let stripes = Stripes::new(1, 12 << 10, 2).unwrap();
        assert_eq!(stripes.layout(8192), Err(StripesError::Block { block: 8192, unit: 12 << 10 }));
        assert!(stripes.layout(4096).is_ok());
    }

    #[test]
    fn a_large_unit_has_several_blocks_and_a_small_one_is_a_block() {
        let block = |length, unit| Stripes::new(length, unit, 2).unwrap().fitting_layout();
        assert_eq!(block(1 << 30, 64 << 20).unwrap().block_size, 1 << 20);
        assert_eq!(block(1 << 30, 64 << 10).unwrap().block_size, 64 << 10);
        assert_eq!(block(1 << 30, 3 << 20).unwrap().block_size, 768 << 10);
        assert_eq!(Stripes::new(0, 4 << 20, 4).unwrap().stripe(1).suffix(), ".stripe-2of4");
    }

    proptest! {
        #[test]
        fn every_byte_is_in_one_stripe_at_one_place(
            length in 0_u64..200_000,
            unit in 1_u64..6,
            servers in 1_usize..6,
        ) {
            let stripes = Stripes::new(length, unit * 4096, servers).unwrap();
            let layout = stripes.layout(4096).unwrap();
            let parts: Vec<Stripe> = (0..stripes.servers).map(|at| stripes.stripe(at)).collect();
            let sum: u64 = parts.iter().map(|part| part.length(length)).sum();
            prop_assert_eq!(sum, length);
            for part in parts {
                let mut next = 0;
                for index in stripes.blocks(layout, part.number).indices() {
                    // In their order the blocks fill the stripe without a gap.
                    prop_assert_eq!(part.offset(layout.offset(index)), next);
                    next += u64::from(layout.block_length(index));
                }
                prop_assert_eq!(next, part.length(length));
            }
        }
    }
}
