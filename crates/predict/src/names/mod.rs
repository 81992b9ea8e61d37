//! How long nodes need to get the content of a name, if they come and leave at random: with one sender, one chain,
//! lines of followers, and a swarm. Time goes in ticks: the time in which a wire carries one piece.

mod crowd;
mod lines;
mod log;
mod swarm;
mod together;

pub use crowd::Crowd;
pub use log::Spreading;

/// Which node takes the content from which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// All take it from the origin.
    Star,
    /// A chain of all that wait; those who come while it runs are in the next one.
    Chain,
    /// Each follows the one that came before it.
    Line,
    /// Each follows the one that came before it in its rack; the first of a rack follows the first of the rack that
    /// began before.
    Racks,
    /// Each takes pieces from nodes chosen at random, of those that they have the rarest.
    Swarm,
}

/// Returns what the nodes of `crowd` need.
#[must_use]
pub fn spread(crowd: &Crowd, by: Spread) -> Spreading {
    let log = match by {
        Spread::Star => together::star(crowd),
        Spread::Chain => together::chain(crowd),
        Spread::Line => lines::follow(crowd, false),
        Spread::Racks => lines::follow(crowd, true),
        Spread::Swarm => swarm::swarm(crowd),
    };
    log.summary(crowd)
}

#[cfg(test)]
mod tests;
