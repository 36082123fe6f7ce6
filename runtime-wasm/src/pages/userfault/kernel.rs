//! The system calls: write protection that resolves its own faults (`userfaultfd`), and the page table's account of what was
//! written (`PAGEMAP_SCAN`). The one file of this crate with unsafe code outside of tests; nothing above it names an address.
//!
//! None of these calls reads or writes a byte of the tracked memory: they set and read bits of its page table, and the kernel
//! lets every store through. So a wrong range would cost a wrong list of pages, never memory safety.
#![expect(unsafe_code, reason = "system calls that are given addresses")]

use std::ffi::c_void;
use std::fs::File;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;

use linux_raw_sys::general::{
    PAGE_IS_WRITTEN, PM_SCAN_CHECK_WPASYNC, PM_SCAN_WP_MATCHING, UFFD_API, UFFD_FEATURE_WP_ASYNC,
    UFFD_FEATURE_WP_UNPOPULATED, UFFD_USER_MODE_ONLY, UFFDIO_REGISTER_MODE_WP, page_region, pm_scan_arg, uffdio_api,
    uffdio_range, uffdio_register, uffdio_writeprotect,
};
use linux_raw_sys::ioctl::{UFFDIO_API, UFFDIO_REGISTER, UFFDIO_WRITEPROTECT};
use rustix::io::Errno;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, Updater, ioctl, opcode};
use rustix::mm::{MapFlags, ProtFlags, UserfaultfdFlags, mmap_anonymous, munmap, userfaultfd};

use super::super::SMALL_PAGE_BYTES;
use super::Unavailable;

/// Faults are resolved by the kernel alone; pages that no one has touched yet are protected too, so that reading one is no write.
const FEATURES: u64 = (UFFD_FEATURE_WP_ASYNC | UFFD_FEATURE_WP_UNPOPULATED) as u64;

/// Runs of written pages that one scan tells at most; a scan that finds more is followed by another one.
pub(in super::super) const RUNS: usize = 256;

// Two numbers of the system's headers that the library's bindings lack: `_IOWR('f', 16, …)`, and set a protection, not lift it.
const PAGEMAP_SCAN: Opcode = opcode::read_write::<pm_scan_arg>(b'f', 16);
const WRITEPROTECT_MODE_WP: u64 = 1 << 0;

/// Whole pages of a memory, under write protection until this is dropped.
#[derive(Debug)]
pub(super) struct Region {
    start: u64,
    end: u64,
    found: Box<[page_region]>,
    pagemap: File,
    /// Closing it ends the protection, of exactly what is still registered with it: after the memory was unmapped, that is
    /// nothing. An unregistering by address could meet another memory at the same place.
    _userfault: OwnedFd,
}

impl Region {
    /// Registers and protects `part`, which is made of whole pages.
    pub(super) fn new(part: &mut [u8]) -> Result<Region, Unavailable> {
        let userfault = open()?;
        let pagemap = File::open("/proc/self/pagemap")
            .map_err(|error| refusal(Call::PageTable, Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
        let start = part.as_mut_ptr().expose_provenance() as u64;
        let range = uffdio_range { start, len: part.len() as u64 };
        register(&userfault, range)?;
        let found = vec![page_region { start: 0, end: 0, categories: 0 }; RUNS].into_boxed_slice();
        let region = Region { start, end: start + range.len, found, pagemap, _userfault: userfault };
        // The page table is there for all of the part now, so that this scan meets what every later one does.
        region.protect().map_err(|error| refusal(Call::Scan, error))?;
        Ok(region)
    }

    /// Tells each page that was written since it was protected, and protects it again. After an error some may be lost.
    pub(super) fn take_written(&mut self, mut each: impl FnMut(u32)) -> Result<(), Errno> {
        let mut from = self.start;
        while from < self.end {
            let scanned = scan(&self.pagemap, from..self.end, &mut self.found)?;
            for run in &self.found[..scanned.runs.min(RUNS)] {
                pages(self.start, run.start.max(from)..run.end.min(self.end)).for_each(&mut each);
            }
            from = scanned.past(from)?;
        }
        Ok(())
    }

    /// Protects what was written.
    pub(super) fn protect(&self) -> Result<(), Errno> {
        let mut from = self.start;
        while from < self.end {
            from = scan(&self.pagemap, from..self.end, &mut [])?.past(from)?;
        }
        Ok(())
    }
}

/// What the kernel was asked when it refused.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Call {
    Open,
    Features,
    PageTable,
    Register,
    Scan,
}

/// What a refusal means. Filters answer with errors of their own choice.
pub(in super::super) fn refusal(call: Call, error: Errno) -> Unavailable {
    let code = error.raw_os_error();
    match (call, error) {
        (_, Errno::MFILE | Errno::NFILE | Errno::NOMEM) => Unavailable::Exhausted { code },
        (Call::Open, Errno::NOSYS) => Unavailable::NotThere,
        (Call::Open, Errno::INVAL) | (Call::Features, Errno::INVAL) | (Call::Scan, Errno::NOTTY | Errno::INVAL) => {
            Unavailable::TooOld
        }
        (Call::Open | Call::Features, _) => Unavailable::Refused,
        (Call::PageTable, _) => Unavailable::PageTable,
        (Call::Register | Call::Scan, _) => Unavailable::Register { code },
    }
}

/// The numbers of the pages at these addresses.
fn pages(start: u64, run: Range<u64>) -> Range<u32> {
    let page = |address: u64| {
        let page = (address - start) / SMALL_PAGE_BYTES as u64;
        u32::try_from(page).expect("a tracked part has no more pages than a 32-bit memory")
    };
    page(run.start)..page(run.end)
}

/// A userfaultfd of this process that stops nobody.
fn open() -> Result<OwnedFd, Unavailable> {
    let flags = UserfaultfdFlags::CLOEXEC | UserfaultfdFlags::from_bits_retain(UFFD_USER_MODE_ONLY);
    // SAFETY: what a userfaultfd may do to memory it does to what is registered with it, and `register` alone does that.
    let userfault = unsafe { userfaultfd(flags) }.map_err(|error| refusal(Call::Open, error))?;
    let mut api = uffdio_api { api: u64::from(UFFD_API), features: FEATURES, ioctls: 0 };
    // SAFETY: `UFFDIO_API` reads and writes one `uffdio_api`.
    unsafe { ioctl(&userfault, Updater::<{ UFFDIO_API as Opcode }, _>::new(&mut api)) }
        .map_err(|error| refusal(Call::Features, error))?;
    if api.features & FEATURES == FEATURES { Ok(userfault) } else { Err(Unavailable::TooOld) }
}

/// Registers the range, which its caller has exclusively, and protects all of its pages, touched or not: a scan alone would pass
/// over what has no page table yet, with many kernels, and take a page for written that is read there first.
fn register(userfault: &OwnedFd, range: uffdio_range) -> Result<(), Unavailable> {
    let refused = |error| refusal(Call::Register, error);
    let mut register = uffdio_register { range, mode: u64::from(UFFDIO_REGISTER_MODE_WP), ioctls: 0 };
    // SAFETY: `UFFDIO_REGISTER` reads and writes one `uffdio_register`. With the features of `open`, no access to the range ever
    // waits or fails for it.
    unsafe { ioctl(userfault, Updater::<{ UFFDIO_REGISTER as Opcode }, _>::new(&mut register)) }.map_err(refused)?;
    let mut protect = uffdio_writeprotect { range, mode: WRITEPROTECT_MODE_WP };
    // SAFETY: `UFFDIO_WRITEPROTECT` reads one `uffdio_writeprotect`; a store into the range lifts its page's protection.
    unsafe { ioctl(userfault, Updater::<{ UFFDIO_WRITEPROTECT as Opcode }, _>::new(&mut protect)) }.map_err(refused)
}

/// What one scan did.
struct Scanned {
    runs: usize,
    end: u64,
}

impl Scanned {
    /// Where the next scan begins. One that does not get on would be repeated for ever.
    fn past(&self, from: u64) -> Result<u64, Errno> {
        if self.end > from { Ok(self.end) } else { Err(Errno::IO) }
    }
}

/// Protects the written pages of the range, as far as `found` has room for them; if it has none at all, every one, untold.
fn scan(pagemap: &File, range: Range<u64>, found: &mut [page_region]) -> Result<Scanned, Errno> {
    let vec = if found.is_empty() { 0 } else { found.as_mut_ptr().expose_provenance() as u64 };
    let written = u64::from(PAGE_IS_WRITTEN);
    let scan = Scan(pm_scan_arg {
        size: size_of::<pm_scan_arg>() as u64,
        // A range that is not protected as it should be is an error, not a range of clean pages.
        flags: u64::from(PM_SCAN_WP_MATCHING | PM_SCAN_CHECK_WPASYNC),
        start: range.start,
        end: range.end,
        walk_end: 0,
        vec,
        vec_len: found.len() as u64,
        max_pages: 0,
        category_inverted: 0,
        category_mask: written,
        category_anyof_mask: 0,
        return_mask: written,
    });
    // SAFETY: `found` is the kernel's for the length of this call, and `vec_len` says how much of it there is.
    unsafe { ioctl(pagemap, scan) }
}

/// The argument of a scan, which comes back with its end; the call's value is how many runs were found.
struct Scan(pm_scan_arg);

// SAFETY: `PAGEMAP_SCAN` is made of its number and of this very type, it writes `walk_end` and what `vec` leads to, and returns a
// count that is no larger than `vec_len`.
unsafe impl Ioctl for Scan {
    type Output = Scanned;

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        PAGEMAP_SCAN
    }

    fn as_ptr(&mut self) -> *mut c_void {
        (&raw mut self.0).cast()
    }

    unsafe fn output_from_ptr(runs: IoctlOutput, scan: *mut c_void) -> Result<Scanned, Errno> {
        // SAFETY: by the trait's contract this is the pointer of `as_ptr`.
        let end = unsafe { scan.cast::<pm_scan_arg>().read() }.walk_end;
        Ok(Scanned { runs: usize::try_from(runs).unwrap_or_default(), end })
    }
}

/// Fresh pages from the system, which nothing has touched and nobody else has: what is tried on.
#[derive(Debug)]
pub(in super::super) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    /// Pages for so many bytes, all 0.
    pub(in super::super) fn new(bytes: usize) -> Result<Mapping, Unavailable> {
        // SAFETY: without an address and `FIXED` the system takes a place where nothing is.
        let start = unsafe {
            mmap_anonymous(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        };
        let exhausted = |error: Errno| Unavailable::Exhausted { code: error.raw_os_error() };
        let start = NonNull::new(start.map_err(exhausted)?.cast()).ok_or(exhausted(Errno::NOMEM))?;
        Ok(Mapping { start, bytes })
    }

    /// The pages.
    pub(in super::super) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is this value's alone, readable and writable, zeroed at first, and lives as long as it does.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and no reference into it outlives it. It can't fail for a whole mapping.
        let _unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
