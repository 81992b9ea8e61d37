//! How long agents have sent nothing, not counting times in which this process was suspended.

/// Silence after which an agent is considered dead, in nanoseconds.
const SILENCE_NS: u64 = 5_000_000_000;

/// Silence after which an agent behind a login is considered dead in an operation that awaits
/// logins, in nanoseconds: two logins of 8 s each, and the time until a break is noticed.
pub const SILENCE_BY_LOGIN_NS: u64 = 20_000_000_000;

/// The longest part of a turn that counts as silence, in nanoseconds. In a longer turn, this
/// process was suspended or blocked, and did not read what agents sent.
const TURN_MAX_NS: u64 = 1_000_000_000;

/// How long each agent has sent nothing.
#[derive(Debug)]
pub struct Silence {
    /// The silence of each agent in nanoseconds.
    silent_ns: Vec<u64>,
    /// How long each may be silent, in nanoseconds.
    limits_ns: Vec<u64>,
    /// The end of the last turn in monotonic nanoseconds.
    turned_ns: u64,
}

impl Silence {
    /// Creates the silence of `count` agents, which begins now.
    #[must_use]
    pub fn new(count: usize, now_ns: u64) -> Self {
        Self { silent_ns: vec![0; count], limits_ns: vec![SILENCE_NS; count], turned_ns: now_ns }
    }

    /// Begins the silence of every agent anew.
    pub fn restart(&mut self, now_ns: u64) {
        self.silent_ns.fill(0);
        self.turned_ns = now_ns;
    }

    /// Lets an agent be silent while the login by which it is reached is made again.
    pub fn await_login(&mut self, node: usize) {
        self.limits_ns[node] = SILENCE_BY_LOGIN_NS;
    }

    /// Ends a turn of the loop, in which the agents `heard` sent messages.
    pub fn turn(&mut self, now_ns: u64, heard: impl IntoIterator<Item = usize>) {
        let passed = now_ns.saturating_sub(self.turned_ns).min(TURN_MAX_NS);
        self.turned_ns = now_ns;
        self.silent_ns.iter_mut().for_each(|silent| *silent += passed);
        heard.into_iter().for_each(|node| self.silent_ns[node] = 0);
    }

    /// Returns whether an agent has been silent for so long that it is considered dead.
    #[must_use]
    pub fn is_long(&self, node: usize) -> bool {
        self.silent_ns[node] > self.limits_ns[node]
    }

    /// Returns the agents that are considered dead because they are silent, each with this reason.
    pub fn lost(&self) -> impl Iterator<Item = (usize, String)> {
        let silent = (0..self.silent_ns.len()).filter(|&node| self.is_long(node));
        silent.map(|node| {
            let seconds = self.limits_ns[node] / 1_000_000_000;
            (node, format!("no message from its agent for {seconds} s"))
        })
    }
}

#[cfg(test)]
mod tests;
