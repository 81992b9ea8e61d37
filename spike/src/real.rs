//! The real Io: one thread runs the driver and the sockets, workers do what may block.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;

use garland_sys::event::Wake;
use garland_sys::{clock, tcp, threads};
use rustix::event::{Timespec, epoll};

use crate::io::{
    Completion, Driver, FileId, OpenMode, Operation, Output, Piece, SocketId, Submission, Wait,
};
use crate::stage::{Files, Stop, Work};

/// How long a connection attempt may take.
const CONNECT: Duration = Duration::from_secs(5);

/// How many steps a driver makes at most before other sockets are looked at. A socket that always
/// has data would hide the others: the node would miss the head's pings.
const LOOK: u64 = 16;

/// The number under which epoll reports that a worker has finished something.
const WAKE: u64 = u64::MAX;

/// Runs drivers with tags of type `T` on the operating system.
pub struct Real<T> {
    epoll: OwnedFd,
    listeners: BTreeMap<SocketId, Listener<T>>,
    sockets: BTreeMap<SocketId, Socket<T>>,
    shared: Arc<Shared<T>>,
    workers: Vec<JoinHandle<()>>,
    done: Vec<Completion<T>>,
    steps: u64,
}

struct Listener<T> {
    listener: TcpListener,
    waiting: VecDeque<(T, SocketId)>,
}

struct Socket<T> {
    stream: TcpStream,
    receive: Option<(T, Piece)>,
    send: Option<(T, Piece)>,
}

/// What the loop and its workers share.
struct Shared<T> {
    jobs: Mutex<Jobs<T>>,
    ready: Condvar,
    finished: Mutex<Vec<Finished<T>>>,
    /// Whether the loop must be woken for what is finished.
    is_asleep: AtomicBool,
    wake: Wake,
    files: RwLock<BTreeMap<FileId, Arc<File>>>,
}

struct Jobs<T> {
    queue: VecDeque<Submission<T>>,
    is_over: bool,
}

struct Finished<T> {
    tag: T,
    output: Output,
    socket: Option<(SocketId, TcpStream)>,
}

fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Copy + Send + 'static> Real<T> {
    /// Returns an Io with this number of workers. Without any, the loop itself does their work.
    ///
    /// # Errors
    /// When the system has no descriptors or threads left.
    pub fn new(workers: usize) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let shared = Arc::new(Shared {
            jobs: Mutex::new(Jobs { queue: VecDeque::new(), is_over: false }),
            ready: Condvar::new(),
            finished: Mutex::default(),
            is_asleep: AtomicBool::new(false),
            wake: Wake::new()?,
            files: RwLock::default(),
        });
        let data = epoll::EventData::new_u64(WAKE);
        epoll::add(&epoll, shared.wake.as_fd(), data, epoll::EventFlags::IN)?;
        let spawn = |_| {
            let shared = Arc::clone(&shared);
            threads::spawn("io", move || shared.work())
        };
        let workers = (0..workers).map(spawn).collect::<io::Result<_>>()?;
        let (listeners, sockets) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { epoll, listeners, sockets, shared, workers, done: Vec::new(), steps: 0 })
    }

    /// Adds a listener under a name that the driver knows.
    ///
    /// # Errors
    /// When the system refuses to watch it.
    pub fn listen(&mut self, name: SocketId, listener: TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let data = epoll::EventData::new_u64(name.0.into());
        epoll::add(&self.epoll, &listener, data, epoll::EventFlags::IN | epoll::EventFlags::ET)?;
        self.listeners.insert(name, Listener { listener, waiting: VecDeque::new() });
        Ok(())
    }

    /// Returns the number of steps of the driver so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Runs a driver until it has ended.
    ///
    /// # Errors
    /// When the system cannot wait for events any more.
    pub fn run<D: Driver<Tag = T>>(&mut self, driver: &mut D) -> io::Result<()> {
        let (mut done, mut todo) = (Vec::new(), Vec::new());
        loop {
            self.steps += 1;
            let wait = driver.step(clock::now_ns(), &mut done, &mut todo);
            for submission in todo.drain(..) {
                self.submit(submission);
            }
            let Wait::Until(deadline) = wait else { return Ok(()) };
            self.collect();
            // What is there already is taken before the thread sleeps.
            if self.done.is_empty() {
                self.sleep(deadline)?;
            } else if self.steps.is_multiple_of(LOOK) {
                self.sleep(0)?;
            }
            std::mem::swap(&mut done, &mut self.done);
        }
    }

    fn submit(&mut self, Submission { tag, call }: Submission<T>) {
        match call {
            Operation::Receive(socket, piece) => match self.sockets.get_mut(&socket) {
                Some(socket) => {
                    socket.receive = Some((tag, piece));
                    socket.try_receive(&mut self.done);
                }
                None => self.complete(tag, Output::Moved(piece, Err(closed()))),
            },
            Operation::Send(socket, piece) => match self.sockets.get_mut(&socket) {
                Some(socket) => {
                    socket.send = Some((tag, piece));
                    socket.try_send(&mut self.done);
                }
                None => self.complete(tag, Output::Moved(piece, Err(closed()))),
            },
            Operation::Accept { listener, socket } => {
                if let Some(listener) = self.listeners.get_mut(&listener) {
                    listener.waiting.push_back((tag, socket));
                }
                self.accept(listener);
            }
            Operation::Close(socket) => {
                let Some(socket) = self.sockets.remove(&socket) else { return };
                let waiting = socket.receive.into_iter().chain(socket.send);
                for (tag, piece) in waiting {
                    self.complete(tag, Output::Moved(piece, Err(closed())));
                }
            }
            call if self.workers.is_empty() => {
                let finished = self.shared.perform(Submission { tag, call });
                lock(&self.shared.finished).push(finished);
            }
            call => {
                lock(&self.shared.jobs).queue.push_back(Submission { tag, call });
                self.shared.ready.notify_one();
            }
        }
    }

    fn complete(&mut self, tag: T, output: Output) {
        self.done.push(Completion { tag, output });
    }

    /// Takes what the workers have finished.
    fn collect(&mut self) {
        let finished = std::mem::take(&mut *lock(&self.shared.finished));
        for Finished { tag, mut output, socket } in finished {
            if let Some((name, stream)) = socket {
                output = Output::Done(self.add(name, stream));
            }
            self.complete(tag, output);
        }
    }

    fn add(&mut self, name: SocketId, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let data = epoll::EventData::new_u64(name.0.into());
        let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
        epoll::add(&self.epoll, &stream, data, flags)?;
        self.sockets.insert(name, Socket { stream, receive: None, send: None });
        Ok(())
    }

    fn accept(&mut self, name: SocketId) {
        while let Some(listener) = self.listeners.get_mut(&name) {
            let Some(&(tag, socket)) = listener.waiting.front() else { return };
            let stream = match listener.listener.accept() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                result => result.map(|(stream, _)| stream),
            };
            listener.waiting.pop_front();
            let result = stream.and_then(|stream| self.add(socket, stream));
            self.complete(tag, Output::Done(result));
        }
    }

    fn sleep(&mut self, deadline: u64) -> io::Result<()> {
        self.shared.is_asleep.store(true, Ordering::SeqCst);
        let left = if lock(&self.shared.finished).is_empty() {
            clock::until(deadline)
        } else {
            Duration::ZERO
        };
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        let mut events = [const {
            epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }
        }; 16];
        let count = match epoll::wait(&self.epoll, &mut events, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => 0,
            result => result?,
        };
        self.shared.is_asleep.store(false, Ordering::SeqCst);
        for event in &events[..count] {
            let data = event.data;
            let Ok(name) = u32::try_from(data.u64()) else {
                self.shared.wake.lower();
                continue;
            };
            self.accept(SocketId(name));
            if let Some(socket) = self.sockets.get_mut(&SocketId(name)) {
                socket.try_receive(&mut self.done);
                socket.try_send(&mut self.done);
            }
        }
        self.collect();
        Ok(())
    }
}

impl<T> Drop for Real<T> {
    fn drop(&mut self) {
        lock(&self.shared.jobs).is_over = true;
        self.shared.ready.notify_all();
        for worker in self.workers.drain(..) {
            // A panic has been printed already.
            let _ = worker.join();
        }
    }
}

impl<T: Copy> Socket<T> {
    fn try_receive(&mut self, done: &mut Vec<Completion<T>>) {
        let Some((_, piece)) = &mut self.receive else { return };
        let range = piece.from..piece.to;
        let result = match tcp::try_receive(&self.stream, &mut piece.buffer[range]) {
            Ok(None) => return,
            Ok(Some(count)) => Ok(count),
            Err(error) => Err(error),
        };
        done.extend(self.receive.take().map(|waiting| moved(waiting, result)));
    }

    fn try_send(&mut self, done: &mut Vec<Completion<T>>) {
        let Some((_, piece)) = &self.send else { return };
        let result = match tcp::try_send(&self.stream, &piece.buffer[piece.from..piece.to]) {
            Ok(None) => return,
            Ok(Some(count)) => Ok(count),
            Err(error) => Err(error),
        };
        done.extend(self.send.take().map(|waiting| moved(waiting, result)));
    }
}

fn moved<T>((tag, mut piece): (T, Piece), result: io::Result<usize>) -> Completion<T> {
    piece.from += result.as_ref().map_or(0, |count| *count);
    Completion { tag, output: Output::Moved(piece, result) }
}

fn closed() -> io::Error {
    io::ErrorKind::NotConnected.into()
}

impl<T: Copy + Send> Shared<T> {
    fn work(&self) {
        loop {
            let mut jobs = lock(&self.jobs);
            let job = loop {
                if jobs.is_over {
                    return;
                }
                match jobs.queue.pop_front() {
                    Some(job) => break job,
                    None => jobs = self.ready.wait(jobs).unwrap_or_else(PoisonError::into_inner),
                }
            };
            drop(jobs);
            let finished = self.perform(job);
            lock(&self.finished).push(finished);
            if self.is_asleep.swap(false, Ordering::SeqCst) {
                self.wake.raise();
            }
        }
    }

    fn perform(&self, Submission { tag, call }: Submission<T>) -> Finished<T> {
        let mut socket = None;
        let output = match call {
            Operation::Work(work) => self.run(work),
            Operation::Connect(name, address) => Output::Done(connect(address).map(|stream| {
                socket = Some((name, stream));
            })),
            Operation::Open(file, path, mode) => Output::Done(open(&path, mode).map(|opened| {
                let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
                files.insert(file, Arc::new(opened));
            })),
            Operation::Sync(file) => Output::Done(self.file(file).and_then(|file| file.sync_all())),
            Operation::Rename(from, to) => Output::Done(std::fs::rename(from, to)),
            Operation::SyncFolder(path) => {
                Output::Done(File::open(path).and_then(|dir| dir.sync_all()))
            }
            Operation::Remove(path) => Output::Done(std::fs::remove_file(path)),
            Operation::Accept { .. }
            | Operation::Receive(..)
            | Operation::Send(..)
            | Operation::Close(_) => {
                unreachable!("the loop does what concerns sockets")
            }
        };
        Finished { tag, output, socket }
    }

    fn run(&self, mut work: Work) -> Output {
        let mut files = self;
        let result: Result<usize, Stop> = work.run(&mut files);
        Output::Worked(work, result)
    }

    fn file(&self, name: FileId) -> io::Result<Arc<File>> {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        files.get(&name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl<T: Copy + Send> Files for &Shared<T> {
    fn read(&mut self, file: FileId, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        self.file(file)?.read_at(bytes, offset)
    }

    fn write(&mut self, file: FileId, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.file(file)?.write_at(bytes, offset)
    }
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    TcpStream::connect_timeout(&address, CONNECT)
}

fn open(path: &std::path::Path, mode: OpenMode) -> io::Result<File> {
    match mode {
        OpenMode::Read => File::open(path),
        OpenMode::Create(length) => {
            let file = File::options().write(true).create(true).truncate(true).open(path)?;
            file.set_len(length)?;
            Ok(file)
        }
    }
}
