//! Stripes: how a file lies on several servers, unit by unit in turn.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{LaneBlocks, Layout, LayoutError};

/// The most servers that a file is striped over: each is a lane.
pub const STRIPE_SERVERS_MAX: u16 = 64;

/// The smallest unit in bytes: a block is never smaller, and never crosses a unit.
const UNIT_MIN: u64 = 4 << 10;

/// The largest unit in bytes.
const UNIT_MAX: u64 = 4 << 30;

/// A file of `length` bytes in units of `unit` bytes, the first on the first server, the next on
/// the next, and round again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stripes {
    /// Bytes of the file.
    pub length: u64,
    /// Bytes of every unit but the file's last.
    pub unit: u64,
    /// How many servers there are.
    pub servers: u16,
}

/// One server's stripe: every `of`-th unit, from the unit `number` on (from 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stripe {
    /// Bytes of a unit.
    pub unit: u64,
    /// The server's place, from 0.
    pub number: u16,
    /// How many servers there are.
    pub of: u16,
}

/// Why stripes can't be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StripesError {
    /// The unit is outside of what can be.
    #[error("a stripe unit of {0} bytes: allowed are 4 KiB to 4 GiB in steps of 4 KiB")]
    Unit(u64),
    /// The number of servers is.
    #[error("stripes over {0} servers: allowed are 1 to {STRIPE_SERVERS_MAX}")]
    Servers(usize),
    /// Blocks don't fit into units.
    #[error(
        "blocks of {block} bytes don't fit into stripe units of {unit}: a unit must have a whole number of them"
    )]
    Block {
        /// Bytes of a block.
        block: u32,
        /// Bytes of a unit.
        unit: u64,
    },
    /// Blocks can't be of that size.
    #[error("{0}")]
    Layout(#[from] LayoutError),
}

impl Stripes {
    /// Stripes of `length` bytes over a number of servers.
    ///
    /// # Errors
    /// When the unit is no multiple of 4 KiB up to 4 GiB, or there are not 1 to 64 servers.
    pub fn new(length: u64, unit: u64, servers: usize) -> Result<Self, StripesError> {
        if !(UNIT_MIN..=UNIT_MAX).contains(&unit) || !unit.is_multiple_of(UNIT_MIN) {
            return Err(StripesError::Unit(unit));
        }
        match u16::try_from(servers) {
            Ok(servers @ 1..=STRIPE_SERVERS_MAX) => Ok(Self { length, unit, servers }),
            _ => Err(StripesError::Servers(servers)),
        }
    }

    /// The file in blocks of `block` bytes, which never cross a unit.
    ///
    /// # Errors
    /// When no whole number of them fits a unit, or they are too large or too small.
    pub fn layout(&self, block: u32) -> Result<Layout, StripesError> {
        if block == 0 || !self.unit.is_multiple_of(u64::from(block)) {
            return Err(StripesError::Block { block, unit: self.unit });
        }
        Ok(Layout::new(self.length, block)?)
    }

    /// The file in blocks of a size that fits it: a unit, halved until it is no more than what suits
    /// a file of this length.
    ///
    /// # Errors
    /// Never for a unit that [`Stripes::new`] allows.
    pub fn fitting_layout(&self) -> Result<Layout, StripesError> {
        let wanted = u64::from(Layout::fitting(self.length).block_size);
        let mut block = self.unit;
        while block > wanted && block / 2 >= UNIT_MIN && block.is_multiple_of(2) {
            block /= 2;
        }
        self.layout(u32::try_from(block).unwrap_or(u32::MAX))
    }

    /// The blocks of the server at place `number`, of a `layout` whose blocks fit the unit.
    #[must_use]
    pub fn blocks(&self, layout: Layout, number: u16) -> LaneBlocks {
        let run = (self.unit / u64::from(layout.block_size)).max(1);
        let (first, step) = (run * u64::from(number), run * u64::from(self.servers));
        let blocks = layout.blocks();
        LaneBlocks { first: first.min(blocks), run, step, end: blocks }
    }

    /// The stripe of the server at place `number`.
    #[must_use]
    pub fn stripe(&self, number: u16) -> Stripe {
        Stripe { unit: self.unit, number, of: self.servers }
    }
}

impl Stripe {
    /// Bytes of this stripe of a file of `length` bytes.
    #[must_use]
    pub fn length(&self, length: u64) -> u64 {
        let (number, of) = (u64::from(self.number), u64::from(self.of));
        let whole = length / self.unit;
        let units = (whole + of - 1 - number) / of;
        let last = if whole % of == number { length % self.unit } else { 0 };
        units * self.unit + last
    }

    /// Where in the stripe the file's byte at `offset` is, which belongs to one of its units.
    #[must_use]
    pub fn offset(&self, offset: u64) -> u64 {
        offset / self.unit / u64::from(self.of) * self.unit + offset % self.unit
    }

    /// Whether every number is one that bytes can be counted by.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.number < self.of && Stripes::new(0, self.unit, usize::from(self.of)).is_ok()
    }

    /// What the stripe's file has behind the whole file's name: `.stripe-2of4`.
    #[must_use]
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
