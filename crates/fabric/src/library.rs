//! Loads libfabric at run time, so that it is needed neither for the build nor on machines that do
//! not use it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::transmute_copy;
use std::os::unix::ffi::OsStrExt;

use super::abi::{API, Fabric, FabricAttr, Info};
use super::error::FabricError;

/// The file name of the library. All versions from 1.0 to 2.x have this name.
const NAME: &str = "libfabric.so.1";

/// The environment variable that contains the name or path of the library, if not [`NAME`].
const VARIABLE: &str = "GARLAND_LIBFABRIC";

type GetInfo = unsafe extern "C" fn(
    u32,
    *const c_char,
    *const c_char,
    u64,
    *const Info,
    *mut *mut Info,
) -> c_int;

/// The exported functions of the library. All other functions are called through tables.
pub struct Library {
    pub getinfo: GetInfo,
    pub freeinfo: unsafe extern "C" fn(*mut Info),
    pub dupinfo: unsafe extern "C" fn(*const Info) -> *mut Info,
    pub fabric: unsafe extern "C" fn(*mut FabricAttr, *mut *mut Fabric, *mut c_void) -> c_int,
    strerror: unsafe extern "C" fn(c_int) -> *const c_char,
    version: u32,
}

impl Library {
    /// Loads the library, which stays loaded until the process exits.
    ///
    /// # Errors
    /// When the file is missing, is not libfabric, or is older than 1.17; the message tells what to
    /// do.
    pub fn load() -> Result<Self, FabricError> {
        let other = std::env::var_os(VARIABLE);
        let name = other.as_deref().map_or(NAME.as_bytes(), OsStrExt::as_bytes);
        let shown = String::from_utf8_lossy(name).into_owned();
        let file = CString::new(name)
            .map_err(|_| FabricError::Unsuitable(format!("{shown}: not a file name")))?;
        // SAFETY: the name ends with a zero byte; the initializers of libfabric have no
        // preconditions.
        let handle = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW) };
        if handle.is_null() {
            return Err(FabricError::Unsuitable(format!(
                "loading libfabric: {}: install it (libfabric1 on Debian), or name its file in \
                 {VARIABLE}",
                trouble()
            )));
        }
        Err(FabricError::Unsuitable(match Self::find(handle) {
            Some(found) if found.version >= API => return Ok(found),
            Some(found) => {
                let (major, minor) = found.version();
                format!("{shown} is libfabric {major}.{minor}: version 1.17 or later is required")
            }
            None => format!("{shown} is not libfabric"),
        }))
    }

    fn find(handle: *mut c_void) -> Option<Self> {
        // Functions whose structures have changed have versions: these match `abi`.
        let function = |name: &CStr, version: &CStr| {
            // SAFETY: the handle is open, the names end with a zero byte.
            let exact = unsafe { libc::dlvsym(handle, name.as_ptr(), version.as_ptr()) };
            if !exact.is_null() {
                return Some(exact);
            }
            // SAFETY: as above. A library without symbol versions has one function of each name.
            let only = unsafe { libc::dlsym(handle, name.as_ptr()) };
            (!only.is_null()).then_some(only)
        };
        let getinfo = function(c"fi_getinfo", c"FABRIC_1.3")?;
        let freeinfo = function(c"fi_freeinfo", c"FABRIC_1.3")?;
        let dupinfo = function(c"fi_dupinfo", c"FABRIC_1.3")?;
        let fabric = function(c"fi_fabric", c"FABRIC_1.1")?;
        let strerror = function(c"fi_strerror", c"FABRIC_1.0")?;
        let version = function(c"fi_version", c"FABRIC_1.0")?;
        // SAFETY: functions of these names have these types in every libfabric since 1.3.
        unsafe {
            let version: unsafe extern "C" fn() -> u32 = transmute_copy(&version);
            Some(Self {
                getinfo: transmute_copy(&getinfo),
                freeinfo: transmute_copy(&freeinfo),
                dupinfo: transmute_copy(&dupinfo),
                fabric: transmute_copy(&fabric),
                strerror: transmute_copy(&strerror),
                version: version(),
            })
        }
    }

    /// Returns the major and minor version of the library.
    pub fn version(&self) -> (u16, u16) {
        ((self.version >> 16) as u16, (self.version & 0xffff) as u16)
    }

    /// Returns the error of a call for `operation`. `error` is what the call returned: a negative
    /// error number.
    pub fn error(&self, operation: &'static str, error: isize) -> FabricError {
        let number = c_int::try_from(error.unsigned_abs()).unwrap_or(c_int::MAX);
        // SAFETY: it takes any number and returns text that is never freed.
        let text = unsafe { (self.strerror)(number) };
        if text.is_null() {
            return FabricError::Call(operation, format!("error {number}"));
        }
        // SAFETY: as above: it isn't null, and ends with a zero byte.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        FabricError::Call(operation, text.to_lowercase())
    }
}

/// Returns the reason why the last `dlopen` failed.
fn trouble() -> String {
    // SAFETY: it returns null, or text that stays until the next call in this thread.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "no reason given".to_owned();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
