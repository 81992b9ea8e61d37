//! The providers of libfabric and their capabilities.

use std::ffi::{CStr, CString, c_char};
use std::net::IpAddr;
use std::ptr;

use super::abi::{
    API, FI_CONTEXT, FI_CONTEXT2, FI_DELIVERY_COMPLETE, FI_EP_RDM, FI_MR_ALLOCATED, FI_MR_ENDPOINT,
    FI_MR_LOCAL, FI_MR_PROV_KEY, FI_MR_VIRT_ADDR, FI_MSG, FI_NUMERICHOST, FI_ORDER_SAS, FI_READ,
    FI_RECV, FI_REMOTE_READ, FI_REMOTE_WRITE, FI_RMA, FI_SEND, FI_SOURCE, FI_THREAD_DOMAIN,
    FI_WRITE, Info,
};
use super::error::FabricError;
use super::library::Library;
use super::words;

/// The suffix, in a provider's name, of the layer that implements reliable datagrams over
/// connections. In most versions `tcp` and `verbs` need it.
const LAYER: &str = ";ofi_rxm";

/// A list of offers that the library has made and ordered, best first.
pub struct Offers<'l> {
    library: &'l Library,
    first: *mut Info,
}

/// The requested provider and its properties.
struct Wish<'a> {
    provider: Option<&'a str>,
    source: Option<IpAddr>,
    delivers: bool,
}

/// Returns the names of the providers that support gets, puts and messages, best first. Those that
/// select a device by the address `source` come before the others.
///
/// # Errors
/// When the library reports an error.
pub fn names(library: &Library, source: Option<IpAddr>) -> Result<Vec<String>, FabricError> {
    let mut names: Vec<String> = Vec::new();
    // Not every provider selects by address.
    for source in [source, None] {
        let offers = ask(library, &Wish { provider: None, source, delivers: false })?;
        for name in offers.iter().flat_map(Offers::names) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    Ok(names)
}

/// Returns the offers of `provider`, if possible at the address `source`, and whether the provider
/// acknowledges puts only once they are in the target's memory, as requested by `puts`.
///
/// # Errors
/// When the provider has no suitable offer; the message lists the providers that have one.
pub fn find<'l>(
    library: &'l Library,
    provider: &str,
    source: Option<IpAddr>,
    puts: bool,
) -> Result<(Offers<'l>, bool), FabricError> {
    let layered = format!("{provider}{LAYER}");
    let full = [provider, &layered];
    let tries = if provider.contains(';') { &full[..1] } else { &full[..] };
    let source = source.filter(|_| !words::is_local(provider));
    for provider in tries {
        for delivers in [puts, false] {
            for source in [source, None] {
                let wish = Wish { provider: Some(provider), source, delivers };
                if let Some(offers) = ask(library, &wish)? {
                    return Ok((offers, delivers));
                }
            }
        }
    }
    let (major, minor) = library.version();
    let there = match names(library, source)? {
        none if none.is_empty() => "none with the needed operations".to_owned(),
        some => some.join(", "),
    };
    Err(FabricError::Unsuitable(format!(
        "libfabric {major}.{minor} has no suitable provider {provider} on this node; suitable ones: {there}"
    )))
}

fn ask<'l>(library: &'l Library, wish: &Wish<'_>) -> Result<Option<Offers<'l>>, FabricError> {
    let node = wish.source.map(|source| source.to_canonical().to_string());
    let node = node.and_then(|node| CString::new(node).ok());
    let flags = if node.is_some() { FI_SOURCE | FI_NUMERICHOST } else { 0 };
    let node = node.as_ref().map_or(ptr::null(), |node| node.as_ptr());
    let wanted = hints(library, wish)?;
    let mut first = ptr::null_mut();
    // SAFETY: the strings end with a zero byte, the hints are the library's own; what it returns is
    // freed with its own function, once.
    let answer =
        unsafe { (library.getinfo)(API, node, ptr::null(), flags, wanted.first, &raw mut first) };
    match isize::try_from(answer).unwrap_or(0) {
        0 if first.is_null() => Ok(None),
        0 => Ok(Some(Offers { library, first })),
        error if -error == libc::ENODATA as isize || -error == libc::ENOSYS as isize => Ok(None),
        error => Err(library.error("listing providers", error)),
    }
}

fn hints<'l>(library: &'l Library, wish: &Wish<'_>) -> Result<Offers<'l>, FabricError> {
    // SAFETY: for a null pointer, the function allocates a new structure with all its parts.
    let first = unsafe { (library.dupinfo)(ptr::null()) };
    if first.is_null() {
        return Err(FabricError::Unsuitable("not enough memory for libfabric".to_owned()));
    }
    let hints = Offers { library, first };
    let name = wish.provider.map(CString::new).transpose();
    let name = name.map_err(|_| FabricError::Order("a provider's name has a zero byte"))?;
    let modes = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    // SAFETY: the library has allocated all its parts, and nothing else refers to it; the name is a
    // copy by the C library, whose `free` libfabric calls on it.
    unsafe {
        (*first).caps = FI_MSG | FI_RMA | FI_SEND | FI_RECV;
        (*first).caps |= FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
        (*first).mode = FI_CONTEXT | FI_CONTEXT2;
        (*(*first).ep_attr).kind = FI_EP_RDM;
        (*(*first).tx_attr).msg_order = FI_ORDER_SAS;
        (*(*first).rx_attr).msg_order = FI_ORDER_SAS;
        if wish.delivers {
            (*(*first).tx_attr).op_flags = FI_DELIVERY_COMPLETE;
        }
        (*(*first).domain_attr).mr_mode = modes;
        (*(*first).domain_attr).threading = FI_THREAD_DOMAIN;
        if let Some(name) = name {
            (*(*first).fabric_attr).prov_name = libc::strdup(name.as_ptr());
        }
    }
    Ok(hints)
}

impl Offers<'_> {
    /// Returns the best offer. The pointer and the pointers to its parts are never null.
    pub fn best(&self) -> *mut Info {
        self.first
    }

    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut at = self.first;
        while !at.is_null() {
            // SAFETY: a list that the library has made, and that lives as long as `self`.
            let (name, next) = unsafe { ((*(*at).fabric_attr).prov_name, (*at).next) };
            names.extend(text(name));
            at = next;
        }
        names
    }
}

/// Returns a copy of a text of the library; `None` if the pointer is null.
pub fn text(start: *const c_char) -> Option<String> {
    if start.is_null() {
        return None;
    }
    // SAFETY: it isn't null; the library's texts end with a zero byte.
    Some(unsafe { CStr::from_ptr(start) }.to_string_lossy().into_owned())
}

impl Drop for Offers<'_> {
    fn drop(&mut self) {
        // SAFETY: the list is this value's own, and is freed once.
        unsafe { (self.library.freeinfo)(self.first) };
    }
}
