//! The main loop of the helper: reads orders, executes them one by one, and exits with its agent.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use garland_sys::{clock, inherited, threads};

use super::engine::{Engine, Until};
use super::error::FabricError;
use super::library::Library;
use super::port::{Done, NO_ENDPOINT, Port};
use super::provider;
use super::rounds;
use super::words::{self, Answer, ORDER_MAX, Order, PREFIX, Round, SAMPLES_MAX, VERSION};

/// The time that the helper may take to exit once its agent has exited.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// The main function of the helper.
#[must_use]
pub fn run() -> ExitCode {
    if inherited::input().is_ok_and(|input| input.is_terminal()) || std::env::args_os().len() > 1 {
        return introduce();
    }
    let Ok(output) = keep_output() else { return ExitCode::FAILURE };
    let over = Arc::new(AtomicBool::new(false));
    // Orders are executed one at a time; an agent must not queue more than one.
    let (sender, orders) = sync_channel(1);
    let told = Arc::clone(&over);
    if let Err(error) = threads::spawn("listen", move || listen(sender, &told)) {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    match obey(output, &orders, &over) {
        Ok(()) => ExitCode::SUCCESS,
        // An answer cannot be written if the agent has exited.
        Err(_) => ExitCode::FAILURE,
    }
}

/// Prints what this program is and which providers it finds, for a user who starts it.
fn introduce() -> ExitCode {
    println!("garland-fabric {}: started by garland's agents", env!("CARGO_PKG_VERSION"));
    let found = Library::load().and_then(|library| {
        let (major, minor) = library.version();
        let providers = provider::names(&library, None)?;
        Ok(format!("libfabric {major}.{minor}; providers: {}", providers.join(", ")))
    });
    match found {
        Ok(found) => {
            println!("{found}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// Returns a duplicate of standard output, for answers only, and redirects standard output to
/// standard error, since libraries may print to it.
fn keep_output() -> io::Result<File> {
    let output = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(output.into())
}

/// Reads orders and passes them on, until the agent closes the input. Then makes sure that the
/// helper exits, even if a call hangs in the library.
fn listen(orders: SyncSender<Order>, over: &AtomicBool) {
    if let Ok(mut stdin) = inherited::input().map(|input| input.lock()) {
        while let Some(order) = read_order(&mut stdin) {
            if orders.send(order).is_err() {
                return;
            }
        }
    }
    over.store(true, Ordering::Relaxed);
    drop(orders);
    std::thread::sleep(EXIT_TIMEOUT);
    // A call hangs in the library, and has not finished in time. SAFETY: _exit only ends the
    // process.
    unsafe { libc::_exit(1) };
}

fn read_order(input: &mut impl Read) -> Option<Order> {
    let mut prefix = [0; PREFIX];
    input.read_exact(&mut prefix).ok()?;
    let mut bytes = vec![0; words::length(prefix, ORDER_MAX).ok()?];
    input.read_exact(&mut bytes).ok()?;
    words::message(&bytes).ok()
}

fn obey(mut output: File, orders: &Receiver<Order>, over: &AtomicBool) -> io::Result<()> {
    output.write_all(&words::frame(&Answer::Hello(VERSION)))?;
    let library = Library::load();
    let mut session = HelperSession { library: library.as_ref(), port: None, pending: false, over };
    // The loop ends when the agent has exited or closed the input.
    while let Ok(order) = orders.recv() {
        let answer =
            session.obey(&order).unwrap_or_else(|error| Answer::Refused(error.to_string()));
        output.write_all(&words::frame(&answer))?;
    }
    Ok(())
}

/// The state that the helper keeps between orders.
struct HelperSession<'l> {
    library: Result<&'l Library, &'l FabricError>,
    port: Option<Port<'l>>,
    /// Whether [`Order::Try`] has left an operation in flight.
    pending: bool,
    over: &'l AtomicBool,
}

impl<'l> HelperSession<'l> {
    fn obey(&mut self, order: &Order) -> Result<Answer, FabricError> {
        let library = self.library.map_err(Clone::clone)?;
        match order {
            Order::List(source) => provider::names(library, *source).map(Answer::Providers),
            Order::Open(wish) => {
                // The memory of the previous endpoint is released first.
                self.port = None;
                let port = self.port.insert(Port::open(library, wish)?);
                Ok(Answer::Opened(port.opened()?.clone()))
            }
            Order::Meet(peer) => self.port()?.meet(peer).map(|()| Answer::Done),
            Order::Run(round) => rounds::run(&mut self.engine(round)?, round).map(Answer::Ran),
            Order::Serve(round) => {
                rounds::serve(&mut self.engine(round)?, round).map(Answer::Served)
            }
            Order::Try(round, millis) => {
                let (done, pending) = rounds::attempt(&mut self.engine(round)?, round, *millis)?;
                self.pending = pending;
                Ok(Answer::Tried(done))
            }
            Order::Settle => self.settle().map(|()| Answer::Done),
            Order::Rest => Ok(Answer::Rested(clock::cpu_ns())),
        }
    }

    fn port(&mut self) -> Result<&mut Port<'l>, FabricError> {
        self.port.as_mut().ok_or(NO_ENDPOINT)
    }

    fn engine(&mut self, round: &Round) -> Result<Engine<'_, 'l>, FabricError> {
        let over = self.over;
        let port = self.port()?;
        let fits = round.size >= 1 && (1..=port.depth()).contains(&(round.depth as usize));
        if !fits || round.count > SAMPLES_MAX {
            return Err(FabricError::Order("the parameters of a round exceed the limits"));
        }
        Ok(Engine::new(port, over))
    }

    fn settle(&mut self) -> Result<(), FabricError> {
        let over = self.over;
        let pending = std::mem::take(&mut self.pending);
        let mut engine = Engine::new(self.port()?, over);
        let mut now = clock::now_ns();
        let mut over = !pending;
        while !over {
            now = engine.wait(now, Until::Done, true)?;
            over = engine.done.contains(&Done::Went(0));
        }
        rounds::finish(&mut engine)
    }
}
