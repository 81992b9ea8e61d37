//! libfabric's structures and tables of functions, as its C headers of version 1.17 declare them
//! (`rdma/fabric.h`, `fi_domain.h`, `fi_endpoint.h`, `fi_eq.h`, `fi_rma.h`, `fi_cm.h`).
//!
//! Each declaration here is the beginning of the real structure: later versions only add fields at
//! the end, and the library itself allocates almost all structures. Most of libfabric's calls are
//! inline functions of the headers, which call through the tables.

use std::ffi::{c_char, c_int, c_void};

/// `FI_VERSION(1, 17)`.
pub const API: u32 = 1 << 16 | 17;

pub const FI_MSG: u64 = 1 << 1;
pub const FI_RMA: u64 = 1 << 2;
pub const FI_READ: u64 = 1 << 8;
pub const FI_WRITE: u64 = 1 << 9;
pub const FI_RECV: u64 = 1 << 10;
pub const FI_SEND: u64 = 1 << 11;
pub const FI_REMOTE_READ: u64 = 1 << 12;
pub const FI_REMOTE_WRITE: u64 = 1 << 13;
pub const FI_DELIVERY_COMPLETE: u64 = 1 << 28;
pub const FI_NUMERICHOST: u64 = 1 << 55;
pub const FI_SOURCE: u64 = 1 << 57;
pub const FI_TRANSMIT: u64 = FI_SEND;

/// `fi_info.mode`: each operation must be given memory for the provider's own use.
pub const FI_CONTEXT: u64 = 1 << 59;
pub const FI_CONTEXT2: u64 = 1 << 52;

/// `fi_tx_attr.msg_order`: messages are received in the order in which they were sent.
pub const FI_ORDER_SAS: u64 = 1 << 8;

pub const FI_MR_LOCAL: c_int = 1 << 2;
pub const FI_MR_VIRT_ADDR: c_int = 1 << 4;
pub const FI_MR_ALLOCATED: c_int = 1 << 5;
pub const FI_MR_PROV_KEY: c_int = 1 << 6;
pub const FI_MR_ENDPOINT: c_int = 1 << 9;

pub const FI_EP_RDM: u32 = 3;
pub const FI_THREAD_DOMAIN: u32 = 3;
pub const FI_WAIT_NONE: u32 = 0;
pub const FI_WAIT_FD: u32 = 3;
pub const FI_CQ_FORMAT_CONTEXT: u32 = 1;

/// `fi_info.addr_format`: the address is text that ends with a zero byte.
pub const FI_ADDR_STR: u32 = 9;

/// A command of `fi_control`: enables an object.
pub const FI_ENABLE: c_int = 6;

pub const FI_EAVAIL: isize = 259;
pub const FI_ADDR_NOTAVAIL: u64 = u64::MAX;

#[repr(C)]
pub struct Info {
    pub next: *mut Info,
    pub caps: u64,
    pub mode: u64,
    pub addr_format: u32,
    pub src_addrlen: usize,
    pub dest_addrlen: usize,
    pub src_addr: *mut c_void,
    pub dest_addr: *mut c_void,
    pub handle: *mut Fid,
    pub tx_attr: *mut TxAttr,
    pub rx_attr: *mut RxAttr,
    pub ep_attr: *mut EpAttr,
    pub domain_attr: *mut DomainAttr,
    pub fabric_attr: *mut FabricAttr,
}

#[repr(C)]
pub struct TxAttr {
    pub caps: u64,
    pub mode: u64,
    pub op_flags: u64,
    pub msg_order: u64,
    pub comp_order: u64,
    pub inject_size: usize,
    pub size: usize,
}

#[repr(C)]
pub struct RxAttr {
    pub caps: u64,
    pub mode: u64,
    pub op_flags: u64,
    pub msg_order: u64,
    pub comp_order: u64,
    pub total_buffered_recv: usize,
    pub size: usize,
}

#[repr(C)]
pub struct EpAttr {
    pub kind: u32,
    pub protocol: u32,
    pub protocol_version: u32,
    pub max_msg_size: usize,
}

#[repr(C)]
pub struct DomainAttr {
    pub domain: *mut Domain,
    pub name: *mut c_char,
    pub threading: u32,
    pub control_progress: u32,
    pub data_progress: u32,
    pub resource_mgmt: u32,
    pub av_type: u32,
    pub mr_mode: c_int,
}

#[repr(C)]
pub struct FabricAttr {
    pub fabric: *mut Fabric,
    pub name: *mut c_char,
    pub prov_name: *mut c_char,
    pub prov_version: u32,
    pub api_version: u32,
}

#[repr(C)]
pub struct Fid {
    pub fclass: usize,
    pub context: *mut c_void,
    pub ops: *const Ops,
}

#[repr(C)]
pub struct Ops {
    pub size: usize,
    pub close: unsafe extern "C" fn(*mut Fid) -> c_int,
    pub bind: unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int,
    pub control: unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int,
}

#[repr(C)]
pub struct Fabric {
    pub fid: Fid,
    pub ops: *const FabricOps,
}

#[repr(C)]
pub struct FabricOps {
    pub size: usize,
    pub domain:
        unsafe extern "C" fn(*mut Fabric, *mut Info, *mut *mut Domain, *mut c_void) -> c_int,
}

#[repr(C)]
pub struct Domain {
    pub fid: Fid,
    pub ops: *const DomainOps,
    pub mr: *const MrOps,
}

#[repr(C)]
pub struct DomainOps {
    pub size: usize,
    pub av_open: unsafe extern "C" fn(*mut Domain, *mut AvAttr, *mut *mut Av, *mut c_void) -> c_int,
    pub cq_open: unsafe extern "C" fn(*mut Domain, *mut CqAttr, *mut *mut Cq, *mut c_void) -> c_int,
    pub endpoint: unsafe extern "C" fn(*mut Domain, *mut Info, *mut *mut Ep, *mut c_void) -> c_int,
}

#[repr(C)]
pub struct MrOps {
    pub size: usize,
    /// Parameters: domain, start, length, access, offset, requested key, flags, region (output),
    /// context.
    pub reg: unsafe extern "C" fn(
        *mut Fid,
        *const c_void,
        usize,
        u64,
        u64,
        u64,
        u64,
        *mut *mut Mr,
        *mut c_void,
    ) -> c_int,
}

#[repr(C)]
pub struct Mr {
    pub fid: Fid,
    pub mem_desc: *mut c_void,
    pub key: u64,
}

#[repr(C)]
pub struct AvAttr {
    pub kind: u32,
    pub rx_ctx_bits: c_int,
    pub count: usize,
    pub ep_per_node: usize,
    pub name: *const c_char,
    pub map_addr: *mut c_void,
    pub flags: u64,
}

#[repr(C)]
pub struct Av {
    pub fid: Fid,
    pub ops: *const AvOps,
}

#[repr(C)]
pub struct AvOps {
    pub size: usize,
    pub insert:
        unsafe extern "C" fn(*mut Av, *const c_void, usize, *mut u64, u64, *mut c_void) -> c_int,
}

#[repr(C)]
pub struct CqAttr {
    pub size: usize,
    pub flags: u64,
    pub format: u32,
    pub wait_obj: u32,
    pub signaling_vector: c_int,
    pub wait_cond: u32,
    pub wait_set: *mut c_void,
}

#[repr(C)]
pub struct Cq {
    pub fid: Fid,
    pub ops: *const CqOps,
}

#[repr(C)]
pub struct CqOps {
    pub size: usize,
    pub read: unsafe extern "C" fn(*mut Cq, *mut c_void, usize) -> isize,
    pub readfrom: unsafe extern "C" fn(*mut Cq, *mut c_void, usize, *mut u64) -> isize,
    pub readerr: unsafe extern "C" fn(*mut Cq, *mut CqErrEntry, u64) -> isize,
    pub sread: unsafe extern "C" fn(*mut Cq, *mut c_void, usize, *const c_void, c_int) -> isize,
}

/// `struct fi_cq_entry`: a completion in a queue of the format `FI_CQ_FORMAT_CONTEXT`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CqEntry {
    pub op_context: *mut c_void,
}

/// `struct fi_cq_err_entry`, which the caller allocates. Later versions add fields; `more` is space
/// for them.
#[repr(C)]
pub struct CqErrEntry {
    pub op_context: *mut c_void,
    pub flags: u64,
    pub len: usize,
    pub buf: *mut c_void,
    pub data: u64,
    pub tag: u64,
    pub olen: usize,
    pub err: c_int,
    pub prov_errno: c_int,
    pub err_data: *mut c_void,
    pub err_data_size: usize,
    pub more: [u64; 8],
}

#[repr(C)]
pub struct Ep {
    pub fid: Fid,
    pub ops: *const c_void,
    pub cm: *const CmOps,
    pub msg: *const MsgOps,
    pub rma: *const RmaOps,
}

#[repr(C)]
pub struct CmOps {
    pub size: usize,
    pub setname: *const c_void,
    pub getname: unsafe extern "C" fn(*mut Fid, *mut c_void, *mut usize) -> c_int,
}

/// Parameters: endpoint, buffer, length, memory descriptor, address of the peer, context.
pub type Receive =
    unsafe extern "C" fn(*mut Ep, *mut c_void, usize, *mut c_void, u64, *mut c_void) -> isize;
pub type Send =
    unsafe extern "C" fn(*mut Ep, *const c_void, usize, *mut c_void, u64, *mut c_void) -> isize;

#[repr(C)]
pub struct MsgOps {
    pub size: usize,
    pub recv: Receive,
    pub recvv: *const c_void,
    pub recvmsg: *const c_void,
    pub send: Send,
    pub sendv: *const c_void,
    pub sendmsg: *const c_void,
    pub inject: unsafe extern "C" fn(*mut Ep, *const c_void, usize, u64) -> isize,
}

/// Parameters: endpoint, buffer, length, memory descriptor, address of the peer, offset or address
/// in the peer's memory, key, context.
pub type Read = unsafe extern "C" fn(
    *mut Ep,
    *mut c_void,
    usize,
    *mut c_void,
    u64,
    u64,
    u64,
    *mut c_void,
) -> isize;
pub type Write = unsafe extern "C" fn(
    *mut Ep,
    *const c_void,
    usize,
    *mut c_void,
    u64,
    u64,
    u64,
    *mut c_void,
) -> isize;

#[repr(C)]
pub struct RmaOps {
    pub size: usize,
    pub read: Read,
    pub readv: *const c_void,
    pub readmsg: *const c_void,
    pub write: Write,
}

/// `struct fi_context2`: memory that a provider uses while an operation is in flight.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Context {
    pub internal: [*mut c_void; 8],
}

/// Checks the offsets of fields against those of a C compiler on 64-bit Linux. If a change of a
/// declaration above moves one of these fields, this does not compile.
const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(offset_of!(Info, fabric_attr) == 104);
    assert!(offset_of!(TxAttr, size) == 48 && offset_of!(RxAttr, size) == 48);
    assert!(offset_of!(EpAttr, max_msg_size) == 16);
    assert!(offset_of!(DomainAttr, av_type) == 32 && offset_of!(DomainAttr, mr_mode) == 36);
    assert!(offset_of!(FabricAttr, prov_name) == 16 && offset_of!(FabricAttr, api_version) == 28);
    assert!(offset_of!(Ops, control) == 24 && size_of::<Fid>() == 24);
    assert!(offset_of!(DomainOps, endpoint) == 24 && offset_of!(Domain, mr) == 32);
    assert!(offset_of!(Mr, key) == 32 && size_of::<AvAttr>() == 48);
    assert!(size_of::<CqAttr>() == 40 && offset_of!(CqOps, sread) == 32);
    assert!(offset_of!(CqErrEntry, err) == 56 && offset_of!(CqErrEntry, more) == 80);
    assert!(offset_of!(Ep, msg) == 40 && offset_of!(Ep, rma) == 48);
    assert!(offset_of!(CmOps, getname) == 16 && offset_of!(MsgOps, inject) == 56);
    assert!(offset_of!(MsgOps, send) == 32 && offset_of!(RmaOps, write) == 32);
    assert!(size_of::<Context>() == 64);
};
