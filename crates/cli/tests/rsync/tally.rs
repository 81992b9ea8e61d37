//! How much was played, and how many faults there were.

use std::fmt::{self, Display, Formatter};
use std::ops::AddAssign;

/// Begins the line that a process prints of its batch.
const START: &str = "played ";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub rounds: u64,
    pub copies: u64,
    /// Rounds in which something differed.
    pub faults: u64,
}

impl Tally {
    /// Finds the tally that a process printed; none if it ended before.
    pub fn find(output: &str) -> Option<Self> {
        let line = output.lines().find_map(|line| line.strip_prefix(START))?;
        let mut numbers = line.split(' ').filter_map(|word| word.parse().ok());
        Some(Self { rounds: numbers.next()?, copies: numbers.next()?, faults: numbers.next()? })
    }
}

impl Display for Tally {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{START}{} rounds, {} copies, {} faults", self.rounds, self.copies, self.faults)
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.rounds += other.rounds;
        self.copies += other.copies;
        self.faults += other.faults;
    }
}

#[test]
fn a_tally_is_found_in_what_a_process_prints() {
    let tally = Tally { rounds: 25, copies: 93, faults: 2 };
    let output = format!("\nrunning 1 test\n{tally}\ntest result: FAILED. 1 failed");
    assert_eq!(Tally::find(&output), Some(tally));
    assert_eq!(Tally::find("\nrunning 1 test\n"), None);
}
