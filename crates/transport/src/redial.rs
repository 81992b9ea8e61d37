//! Opens another connection for a control session whose connection broke or is silent.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use garland_sys::channel::{Receiver, TryRecvError, channel};
use garland_sys::event::Wake;
use garland_sys::{clock, threads};

use crate::dial::{ConnectionError, Dial, Renewed};

/// The maximum time of one attempt to connect. It is short, since the kernel repeats lost packets
/// at ever longer intervals: a new attempt sends at once.
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(500);

/// The pause between attempts.
const PAUSE: Duration = Duration::from_millis(100);

/// The number of attempts ended by the agent at which its session counts as over. It is more than
/// one, since an agent with too many strangers ends some connections.
const ENDED_ATTEMPTS_LIMIT: u32 = 3;

/// Attempts to open another connection, in a thread of their own.
pub struct Redial(Receiver<Result<Renewed, Unrenewed>>);

/// Why there is no new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrenewed {
    /// The agent does not run any more, or does not know the session.
    Over,
    /// There was no answer in time.
    NoAnswer,
}

impl Redial {
    pub(crate) fn begin(
        dial: Dial,
        arrived: u64,
        patience: Duration,
        done: Arc<Wake>,
    ) -> io::Result<Self> {
        let (tell, result) = channel();
        threads::spawn("redial", move || {
            // Fails if the session is over.
            let _ = tell.send(attempt(&dial, arrived, clock::after(patience)));
            done.raise();
        })?;
        Ok(Self(result))
    }

    /// Returns the result once there is one.
    #[must_use]
    pub fn result(&self) -> Option<Result<Renewed, Unrenewed>> {
        match self.0.try_recv() {
            Ok(result) => Some(result),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(Unrenewed::NoAnswer)),
        }
    }
}

fn attempt(dial: &Dial, arrived: u64, until_ns: u64) -> Result<Renewed, Unrenewed> {
    let mut ended = 0;
    loop {
        match dial.resume(arrived, ATTEMPT_TIMEOUT) {
            Ok(renewed) => return Ok(renewed),
            Err(ConnectionError::Connect(_, error))
                if error.kind() == io::ErrorKind::ConnectionRefused =>
            {
                return Err(Unrenewed::Over);
            }
            Err(ConnectionError::Connect(..) | ConnectionError::Io(_)) => {}
            // The agent ended the connection, or another program has its address.
            Err(_) => ended += 1,
        }
        if ended >= ENDED_ATTEMPTS_LIMIT {
            return Err(Unrenewed::Over);
        }
        if clock::now_ns() >= until_ns {
            return Err(Unrenewed::NoAnswer);
        }
        threads::sleep(PAUSE);
    }
}
