//! Measurements between two clocks: round trips, and messages in one direction.

/// The four time stamps of a round trip, in nanoseconds of the clock that took them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The index of the node that sent the request; 0 is the head.
    pub from: usize,
    /// The index of the node that answered; 0 is the head.
    pub to: usize,
    /// When the request was sent, by `from`'s clock.
    pub sent: i64,
    /// When the request arrived, by `to`'s clock.
    pub received: i64,
    /// When the answer was sent, by `to`'s clock.
    pub answered: i64,
    /// When the answer arrived, by `from`'s clock.
    pub back: i64,
}

/// The two time stamps of a one-way transfer, in nanoseconds of the clock that took them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The index of the sender; 0 is the head.
    pub from: usize,
    /// The index of the receiver; 0 is the head.
    pub to: usize,
    /// When sending began, by `from`'s clock.
    pub sent: i64,
    /// When receiving ended, by `to`'s clock.
    pub received: i64,
}
