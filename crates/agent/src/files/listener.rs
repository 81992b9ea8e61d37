//! A mount that is let in: by its order, for as long as its control channel is open.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use garland_protocol::{
    CopyId, FILES_LINKS, FilesOrder, FromAgent, Line, PREAMBLE_LEN, Purpose, Role, Secret,
};
use garland_sys::tcp::{self, PREFERRED};

use super::link::Link;
use crate::agent::{Agent, Expected};
use crate::files::service::FileService;
use crate::session::Session;
use garland_dataplane::log::log;
use garland_sys::error::reason;
use garland_transport::greeting::{Welcomed, welcome};
use garland_transport::link::LinkError;
use garland_transport::timed::Timed;

/// How many mounts one controller may have open at a time by one channel.
const MOST: usize = 8;

/// How long a mount that has asked may take to come.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a mount may leave an answer unread before it counts as gone.
const UNREAD: Duration = Duration::from_secs(10);

/// What a mount is let in for.
pub struct FileListener {
    id: CopyId,
    secret: Secret,
    sealed: bool,
    shop: Arc<FileService>,
    /// The connections that have come, by number; each comes once.
    come: Mutex<Vec<Option<TcpStream>>>,
}

/// The mounts that one controller has let in. They are served until this is dropped.
pub struct Mounts {
    agent: Arc<Agent>,
    doors: Vec<Arc<FileListener>>,
}

impl Mounts {
    /// None yet.
    pub fn new(agent: &Arc<Agent>) -> Self {
        Self { agent: Arc::clone(agent), doors: Vec::new() }
    }

    /// Lets a mount in by the order of `session`, unless so many are let in already, and says so.
    pub fn let_in(&mut self, session: &Session, order: FilesOrder) {
        let id = order.id;
        let refused = self.open(order).err();
        session.send(&FromAgent::FilesOpen(id, refused));
    }

    fn open(&mut self, order: FilesOrder) -> Result<(), String> {
        if self.doors.len() >= MOST {
            return Err(format!("{MOST} mounts at once are enough"));
        }
        let shop = FileService::open(self.agent.root(), self.agent.disk().cloned())
            .map_err(|error| format!("opening the agent's root: {}", reason(&error)))?;
        let FilesOrder { id, secret, sealed } = order;
        let come = Mutex::new((0..FILES_LINKS).map(|_| None).collect());
        let door = Arc::new(FileListener { id, secret, sealed, shop: Arc::new(shop), come });
        self.agent.expect(id, Expected::Mount(Arc::clone(&door)));
        self.doors.push(door);
        Ok(())
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        // A question that a disk still keeps is answered to nobody.
        for door in &self.doors {
            self.agent.leave(door.id);
            door.shut();
        }
    }
}

/// Answers a peer that says it comes for files; its preamble, `theirs`, has been read.
pub fn greet(
    agent: &Agent,
    peer: &mut Timed<'_>,
    theirs: &[u8; PREAMBLE_LEN],
) -> Result<Welcomed<Arc<FileListener>>, LinkError> {
    welcome(peer, Purpose::Files, theirs, |id| {
        let Some(Expected::Mount(door)) = agent.await_expected(id, PATIENCE) else { return None };
        Some((door.secret.clone(), door))
    })
}

impl FileListener {
    /// Serves a connection that was greeted; one that wasn't asked for, or comes a second time, is
    /// closed.
    pub fn enter(self: &Arc<Self>, stream: TcpStream, number: u16, binding: &[u8]) {
        let Ok(sending) = self.admit(&stream, number) else { return };
        let (answers, asks) = Line::both(&self.secret, binding, self.sealed, Role::Responder);
        let link = Link::new(stream, asks, sending, answers, Arc::clone(&self.shop));
        let door = Arc::clone(self);
        // One broken connection ends them all: a mount that lives comes back with a new order.
        if let Err(error) = link.serve(number, move || door.shut()) {
            log(&format!("a mount was let go: {}", reason(&error)));
            self.shut();
        }
    }

    fn admit(&self, stream: &TcpStream, number: u16) -> io::Result<TcpStream> {
        stream.set_read_timeout(None)?;
        stream.set_write_timeout(Some(UNREAD))?;
        tcp::keep_alive(stream)?;
        // Where the kernel doesn't even tell, its default is in force, and works.
        let _ = tcp::choose_congestion(stream, &PREFERRED);
        let mut come = self.come.lock().unwrap_or_else(PoisonError::into_inner);
        match come.get_mut(usize::from(number)) {
            Some(place @ None) => *place = Some(stream.try_clone()?),
            Some(Some(_)) | None => return Err(io::ErrorKind::AlreadyExists.into()),
        }
        stream.try_clone()
    }

    fn shut(&self) {
        let come = self.come.lock().unwrap_or_else(PoisonError::into_inner);
        for stream in come.iter().flatten() {
            // One that is closed already needs no more.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}
