//! Reaches an agent by logins on its node, where a firewall keeps this machine from its port: one
//! login for each connection, so that none waits behind another.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use garland_core::cluster::{Node, Ssh};
use garland_protocol::wire::BridgeLine;
use garland_sys::socket::{TcpStream, pair};
use garland_sys::sync::{Condvar, Mutex};
use garland_sys::{clock, threads};
use garland_transport::detour::Detour;
use serde::{Deserialize, Serialize};

use super::complaint;
use super::login::{on_script, send};
use super::shown::ShownLogin;
use crate::launch::binary::Binary;
use crate::launch::bootstrap::{self, ASKS_AGAIN, BootstrapLine};
use crate::launch::error::{LaunchError, cannot};
use crate::launch::stdout::Rest;
use crate::launch::{Cancellation, StartTerms, Starting};

/// The time in which a login must reach the agent. The head of a copy counts attempts to open a
/// link by it: `OPENING_NS` in `garland_protocol`.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(8);

/// How long a login waits for its turn. Each of those before it has [`LOGIN_TIMEOUT`].
const TURN_MAX: Duration = Duration::from_secs(30);

/// How a node is logged in to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    /// The host, as it is passed to ssh.
    pub host: String,
    /// The settings of the cluster file.
    pub ssh: Ssh,
}

/// The detour to the agents of a node by logins.
pub struct Bridge {
    login: Login,
    cancellation: Cancellation,
}

/// Why a login did not reach the agent.
enum Unbridged {
    /// Nothing listens on the agent's port.
    Refused(String),
    /// Anything else.
    Failed(String),
}

impl From<LaunchError> for Unbridged {
    fn from(error: LaunchError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl Bridge {
    /// Creates the detour by `login`. Logins that are being made end when `cancellation` cancels
    /// them.
    pub fn new(login: Login, cancellation: Cancellation) -> Self {
        Self { login, cancellation }
    }

    /// Logs in, and returns a connection to the agent at `address` of that node.
    fn cross(&self, address: SocketAddr) -> Result<TcpStream, Unbridged> {
        let Login { host, ssh } = &self.login;
        let node = Node { host: host.clone(), ..Node::named(host) };
        let binary = running()?;
        let arguments = ["bridge".to_owned(), address.to_string()];
        let command = on_script(ssh, &node, binary, &arguments)?;
        let (near, far) = pair().map_err(cannot("connect to a login", ""))?;
        let far = Arc::new(far);
        let terms = StartTerms {
            cancellation: self.cancellation.clone(),
            rest: Rest::Connection(Arc::clone(&far)),
            is_elsewhere: true,
            step_max: Some(LOGIN_TIMEOUT),
            is_for_life: true,
            tasks: None,
        };
        let place = begin_login(ssh.fanout, TURN_MAX, &self.cancellation)?;
        // What ssh says is in the error.
        let mut starting = Starting::start(command, Path::new("/dev/null"), &terms)
            .map_err(cannot("run ssh", "; install the OpenSSH client"))?;
        if let Err(error) = self.await_open(&mut starting, place) {
            starting.abandon();
            return Err(error);
        }
        let child = starting.keep();
        let feeding = FEEDING.begin();
        threads::spawn("bridge", move || {
            child.feed(&*far);
            drop(feeding);
        })
        .map_err(cannot("pass on what goes to the agent", ""))?;
        Ok(near)
    }

    /// Waits until the login has reached the agent. Its `place` is free as soon as it is logged in:
    /// a node that has the program sent must not keep it from others.
    fn await_open(&self, starting: &mut Starting, place: Counted) -> Result<(), Unbridged> {
        let mut place = Some(place);
        let Login { host, ssh } = &self.login;
        let node = Node { host: host.clone(), ..Node::named(host) };
        let binary = running()?;
        let mut needs_program = false;
        let mut has_begun = false;
        loop {
            let line = starting.next_line().map_err(|error| match error {
                LaunchError::Ended(words) => {
                    let login = ShownLogin::new(ssh, &node);
                    LaunchError::Ended(complaint::reason(&words, &login, has_begun))
                }
                error => error,
            })?;
            match BridgeLine::parse(&line) {
                Some(BridgeLine::Open) => return Ok(()),
                Some(BridgeLine::Refused(why)) => return Err(Unbridged::Refused(why)),
                Some(BridgeLine::Failed(why)) => return Err(Unbridged::Failed(why)),
                None => {}
            }
            match BootstrapLine::parse(&line) {
                // An agent of another release runs there.
                BootstrapLine::Need { machine, missing } => {
                    if std::mem::replace(&mut needs_program, true) {
                        return Err(LaunchError::from(ASKS_AGAIN).into());
                    }
                    bootstrap::fits(binary, &machine, missing.as_deref())?;
                    drop(place.take());
                    if let Some(input) = starting.input() {
                        send(binary, input)?;
                    }
                    starting.has_gone_on();
                }
                BootstrapLine::Refused(why) => return Err(bootstrap::refused(&why).into()),
                BootstrapLine::At(..) => {
                    has_begun = true;
                    drop(place.take());
                }
                BootstrapLine::Unserved(_) | BootstrapLine::Ended(_) | BootstrapLine::Other => {}
            }
        }
    }
}

impl Detour for Bridge {
    fn open(&self, address: SocketAddr) -> io::Result<TcpStream> {
        self.cross(address).map_err(|error| match error {
            Unbridged::Refused(why) => {
                io::Error::new(io::ErrorKind::ConnectionRefused, format!("{why} on its node"))
            }
            Unbridged::Failed(why) => io::Error::other(why),
        })
    }
}

/// How much of something goes on at present in this process.
struct Counter {
    count: Mutex<u32>,
    one_ended: Condvar,
}

/// One of those that a [`Counter`] counts.
struct Counted(&'static Counter);

/// The threads that pass on what goes to an agent.
static FEEDING: Counter = Counter::new();

/// The logins in progress: servers refuse those that come all at once.
static LOGINS: Counter = Counter::new();

impl Counter {
    const fn new() -> Self {
        Self { count: Mutex::new(0), one_ended: Condvar::new() }
    }

    fn begin(&'static self) -> Counted {
        *self.count.lock() += 1;
        Counted(self)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        *self.0.count.lock() -= 1;
        self.0.one_ended.notify_all();
    }
}

/// Waits, at most for `limit`, until all logins have passed on what their closed connections had:
/// agents would take a session whose end they do not learn of for one that goes on.
pub fn pass_on_rest(limit: Duration) {
    let until_ns = clock::after(limit);
    let mut feeding = FEEDING.count.lock();
    while *feeding > 0 && clock::now_ns() < until_ns {
        let _ = FEEDING.one_ended.wait_for(&mut feeding, clock::until(until_ns));
    }
}

/// Waits until fewer than `fanout` logins are in progress, at most for `limit`, and begins one.
///
/// # Errors
/// When its turn does not come, or `cancellation` cancels it.
fn begin_login(
    fanout: u32,
    limit: Duration,
    cancellation: &Cancellation,
) -> Result<Counted, LaunchError> {
    let until_ns = clock::after(limit);
    let mut in_progress = LOGINS.count.lock();
    while *in_progress >= fanout.max(1) {
        if clock::now_ns() >= until_ns {
            let seconds = limit.as_secs();
            return Err(LaunchError::Refused(format!(
                "its turn to log in did not come within {seconds} s, as {in_progress} other logins \
                 are in progress; a higher `fanout` below [ssh] in the cluster file permits more"
            )));
        }
        let _ = LOGINS.one_ended.wait_for(&mut in_progress, Cancellation::POLL_INTERVAL);
        cancellation.check()?;
    }
    *in_progress += 1;
    Ok(Counted(&LOGINS))
}

/// Returns the program, which is read and digested once.
fn running() -> Result<&'static Binary, LaunchError> {
    static RUNNING: OnceLock<Result<Binary, LaunchError>> = OnceLock::new();
    let read =
        RUNNING.get_or_init(|| Binary::running().map_err(cannot("read the running program", "")));
    read.as_ref().map_err(Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_turn_of_a_login_has_a_limit_and_the_reason_says_what_permits_more() {
        let take = |limit| begin_login(1, limit, &Cancellation::default());
        let first = take(TURN_MAX).expect("it is the only one");
        let why = take(Duration::ZERO).err().expect("there is another one").to_string();
        assert!(why.starts_with("its turn to log in did not come within 0 s, as 1 other"), "{why}");
        drop(first);
        assert!(take(Duration::ZERO).is_ok());
    }
}
