//! Opens an endpoint, and inserts the address of its peer.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr;

use garland_sys::random;

use super::super::abi::{
    AvAttr, Context, CqAttr, FI_ADDR_NOTAVAIL, FI_ADDR_STR, FI_CQ_FORMAT_CONTEXT, FI_ENABLE,
    FI_MR_ENDPOINT, FI_MR_PROV_KEY, FI_MR_VIRT_ADDR, FI_READ, FI_RECV, FI_REMOTE_READ,
    FI_REMOTE_WRITE, FI_SEND, FI_TRANSMIT, FI_WAIT_FD, FI_WAIT_NONE, FI_WRITE, Fid,
};
use super::super::error::FabricError;
use super::super::library::Library;
use super::super::memory::{Memory, Ring};
use super::super::provider;
use super::super::words::{ADDRESS_MAX, Open, Opened, Peer};
use super::{NO_ENDPOINT, Port, Remote};

/// The minimum size of the completion queue, in completions.
const COMPLETIONS: usize = 1024;

impl<'l> Port<'l> {
    /// Opens an endpoint with the properties `wish`.
    ///
    /// # Errors
    /// When the provider is missing or does not support the properties, memory is short, or a call
    /// of libfabric fails.
    pub fn open(library: &'l Library, wish: &Open) -> Result<Self, FabricError> {
        let (offers, delivers) = provider::find(library, &wish.provider, wish.source, wish.puts)?;
        let memory = Memory::new(wish.ring).ok_or(FabricError::Memory(wish.ring))?;
        let depth = wish.depth.max(1) as usize;
        let room = || UnsafeCell::new(Context { internal: [ptr::null_mut(); 8] });
        let mut port = Self {
            library,
            offers,
            memory,
            contexts: (0..=2 * depth).map(|_| room()).collect(),
            depth,
            fabric: ptr::null_mut(),
            domain: ptr::null_mut(),
            mr: ptr::null_mut(),
            // Some providers have keys of four bytes.
            key: u64::from(u32::from_le_bytes(random::bytes())),
            ep: ptr::null_mut(),
            cq: ptr::null_mut(),
            av: ptr::null_mut(),
            inject: 0,
            peer: None,
            opened: None,
        };
        port.memory.fill(Ring::Source);
        port.check_limits(wish)?;
        port.open_domain()?;
        let sleeps = port.open_queue(wish.sleeps)?;
        port.open_endpoint()?;
        port.register()?;
        let opened = port.describe(sleeps, delivers)?;
        port.opened = Some(opened);
        Ok(port)
    }

    /// Returns the description of the endpoint.
    ///
    /// # Errors
    /// When the endpoint is not open yet.
    pub fn opened(&self) -> Result<&Opened, FabricError> {
        self.opened.as_ref().ok_or(NO_ENDPOINT)
    }

    fn check_limits(&mut self, wish: &Open) -> Result<(), FabricError> {
        let info = self.offers.best();
        // SAFETY: the best offer and its parts live as long as the offers.
        let (most, sends, receives, inject) = unsafe {
            let tx = (*info).tx_attr;
            let rx = (*info).rx_attr;
            ((*(*info).ep_attr).max_msg_size, (*tx).size, (*rx).size, (*tx).inject_size)
        };
        self.inject = inject;
        let name = &wish.provider;
        let deepest = sends.min(receives);
        let limit = if wish.largest as usize > most {
            format!("{most} bytes per operation")
        // Some providers report 0: unknown.
        } else if deepest > 0 && self.depth > deepest {
            format!("{deepest} operations in flight")
        } else {
            return Ok(());
        };
        Err(FabricError::Unsuitable(format!("provider {name} supports at most {limit}")))
    }

    fn open_domain(&mut self) -> Result<(), FabricError> {
        let info = self.offers.best();
        // SAFETY: as in `check_limits`; a null context is fine.
        let answer = unsafe {
            (self.library.fabric)((*info).fabric_attr, &raw mut self.fabric, ptr::null_mut())
        };
        self.check("opening the fabric", answer)?;
        let fabric = self.fabric;
        // SAFETY: the fabric is open; its table has this since 1.0.
        let answer = unsafe {
            ((*(*fabric).ops).domain)(fabric, info, &raw mut self.domain, ptr::null_mut())
        };
        self.check("opening the domain", answer)
    }

    /// Opens the completion queue and the address vector. Returns whether a thread can sleep on the
    /// queue, which is requested by `sleep`.
    fn open_queue(&mut self, sleep: bool) -> Result<bool, FabricError> {
        let domain = self.domain;
        let mut open = |wait| {
            // SAFETY: it has only numbers and pointers, which can be zero.
            let mut attr: CqAttr = unsafe { std::mem::zeroed() };
            attr.size = COMPLETIONS.max(2 * self.depth + 16);
            (attr.format, attr.wait_obj) = (FI_CQ_FORMAT_CONTEXT, wait);
            // SAFETY: the domain is open; its table has this since 1.0; the attributes are whole.
            unsafe {
                ((*(*domain).ops).cq_open)(domain, &raw mut attr, &raw mut self.cq, ptr::null_mut())
            }
        };
        let sleeps = sleep && open(FI_WAIT_FD) == 0;
        let answer = if sleeps { 0 } else { open(FI_WAIT_NONE) };
        self.check("opening the completion queue", answer)?;
        // SAFETY: as in `check_limits`.
        let kind = unsafe { (*(*self.offers.best()).domain_attr).av_type };
        // SAFETY: it has only numbers and pointers, which can be zero.
        let mut attr: AvAttr = unsafe { std::mem::zeroed() };
        (attr.kind, attr.count) = (kind, 1);
        // SAFETY: as above.
        let answer = unsafe {
            ((*(*domain).ops).av_open)(domain, &raw mut attr, &raw mut self.av, ptr::null_mut())
        };
        self.check("opening the address vector", answer)?;
        Ok(sleeps)
    }

    fn open_endpoint(&mut self) -> Result<(), FabricError> {
        let domain = self.domain;
        let info = self.offers.best();
        // SAFETY: the domain is open, and of this offer.
        let answer =
            unsafe { ((*(*domain).ops).endpoint)(domain, info, &raw mut self.ep, ptr::null_mut()) };
        self.check("opening the endpoint", answer)?;
        self.bind(self.cq.cast(), FI_TRANSMIT | FI_RECV, "binding the completion queue")?;
        self.bind(self.av.cast(), 0, "binding the address vector")?;
        self.control(self.ep.cast(), "enabling the endpoint")
    }

    fn bind(&self, to: *mut Fid, flags: u64, what: &'static str) -> Result<(), FabricError> {
        let fid: *mut Fid = self.ep.cast();
        // SAFETY: both are open.
        let answer = unsafe { ((*(*fid).ops).bind)(fid, to, flags) };
        self.check(what, answer)
    }

    fn control(&self, fid: *mut Fid, operation: &'static str) -> Result<(), FabricError> {
        // SAFETY: it is open; enabling takes no argument.
        let answer = unsafe { ((*(*fid).ops).control)(fid, FI_ENABLE, ptr::null_mut()) };
        self.check(operation, answer)
    }

    /// Registers the memory for access by NICs and the peer.
    fn register(&mut self) -> Result<(), FabricError> {
        let access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
        let domain = self.domain;
        let start = self.memory.start();
        let length = self.memory.length();
        let key = self.key;
        // SAFETY: the memory stays where it is until after the region is closed.
        let answer = unsafe {
            let reg = (*(*domain).mr).reg;
            let fid = domain.cast();
            reg(fid, start, length, access, 0, key, 0, &raw mut self.mr, ptr::null_mut())
        };
        self.check("registering memory", answer)?;
        if self.mode() & FI_MR_ENDPOINT != 0 {
            let (mr, ep): (*mut Fid, *mut Fid) = (self.mr.cast(), self.ep.cast());
            // SAFETY: both are open.
            let answer = unsafe { ((*(*mr).ops).bind)(mr, ep, 0) };
            self.check("binding memory", answer)?;
            self.control(mr, "enabling memory")?;
        }
        Ok(())
    }

    fn mode(&self) -> i32 {
        // SAFETY: as in `check_limits`.
        unsafe { (*(*self.offers.best()).domain_attr).mr_mode }
    }

    fn describe(&self, sleeps: bool, delivers: bool) -> Result<Opened, FabricError> {
        let mut address = vec![0_u8; ADDRESS_MAX];
        let mut length = address.len();
        let ep = self.ep;
        // SAFETY: the endpoint is enabled; the call writes at most `length` bytes.
        let answer = unsafe {
            let getname = (*(*ep).cm).getname;
            getname(ep.cast(), address.as_mut_ptr().cast::<c_void>(), &raw mut length)
        };
        self.check("reading the endpoint's address", answer)?;
        address.truncate(length);
        let info = self.offers.best();
        // SAFETY: as in `check_limits`.
        let (name, domain) =
            unsafe { ((*(*info).fabric_attr).prov_name, (*(*info).domain_attr).name) };
        let mode = self.mode();
        // SAFETY: the region is open.
        let key = unsafe { (*self.mr).key };
        Ok(Opened {
            peer: Peer {
                provider: provider::text(name).unwrap_or_default(),
                address,
                base: if mode & FI_MR_VIRT_ADDR != 0 { self.memory.start() as u64 } else { 0 },
                key: if mode & FI_MR_PROV_KEY != 0 { key } else { self.key },
            },
            domain: provider::text(domain).unwrap_or_default(),
            library: self.library.version(),
            sleeps,
            delivers,
        })
    }

    /// Inserts the address of the peer, to which all further operations go.
    ///
    /// # Errors
    /// When no endpoint is open, the peer uses another provider, or this provider does not accept
    /// its address.
    pub fn meet(&mut self, peer: &Peer) -> Result<(), FabricError> {
        let own = &self.opened()?.peer;
        if peer.provider != own.provider {
            return Err(FabricError::Unsuitable(format!(
                "this node uses provider {}, the other node {}: choose a provider of both with --provider",
                own.provider, peer.provider
            )));
        }
        // SAFETY: as in `check_limits`.
        let is_text = unsafe { (*self.offers.best()).addr_format } == FI_ADDR_STR;
        let mut address = peer.address.clone();
        if is_text {
            // Text is read up to its zero byte; other addresses must be as long as our own.
            address.push(0);
        } else if address.len() != own.address.len() {
            return Err(FabricError::Unsuitable(format!(
                "the other node sent an address of {} bytes, which is not this provider's length",
                address.len()
            )));
        }
        let mut handle = FI_ADDR_NOTAVAIL;
        let av = self.av;
        // SAFETY: the vector is open, and the address is as long as the provider reads.
        let inserted = unsafe {
            let insert = (*(*av).ops).insert;
            insert(av, address.as_ptr().cast(), 1, &raw mut handle, 0, ptr::null_mut())
        };
        if inserted != 1 || handle == FI_ADDR_NOTAVAIL {
            let foreign = "this provider does not accept the other node's address";
            return Err(FabricError::Unsuitable(foreign.to_owned()));
        }
        self.peer = Some(Remote { address: handle, base: peer.base, key: peer.key });
        Ok(())
    }
}
