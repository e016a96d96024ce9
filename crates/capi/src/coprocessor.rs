//! Coprocessors of C programs: what is registered calls back.
//!
//! Invariants: a unit is used by one thread at a time, and freed once; it sees as many registers as
//! its descriptor says. Names are kept as long as the process lives, as the registration is.

use crate::pointers::{Fault, array, text};
use crate::{Seen, Unit};
use netvm::coprocessors::{
    CoproError, Coprocessor, Descriptor, MAX_OPERATIONS, MAX_REGISTERS, Registers, Views, register as register_unit,
};
use std::ffi::{c_char, c_int, c_void};
use std::hash::{DefaultHasher, Hash, Hasher};

/// `netvm_unit_make`.
pub type Make = Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void>;
/// `netvm_unit_init`.
pub type Init = Option<unsafe extern "C" fn(*mut c_void, *const u8, usize) -> u32>;
/// `netvm_unit_invoke`.
pub type Invoke = Option<unsafe extern "C" fn(*mut c_void, u32, *mut u32, *const u8, usize) -> c_int>;
/// `netvm_unit_invoke_views`.
pub type InvokeViews = Option<unsafe extern "C" fn(*mut c_void, u32, *mut u32, *const Seen) -> c_int>;
/// `netvm_unit_free`.
pub type Free = Option<unsafe extern "C" fn(*mut c_void)>;

crate::abi::c_types!(
    Make = "netvm_unit_make",
    Init = "netvm_unit_init",
    Invoke = "netvm_unit_invoke",
    InvokeViews = "netvm_unit_invoke_views",
    Free = "netvm_unit_free"
);

/// What init says of a unit that could not be made.
const NOT_MADE: u32 = u32::MAX;

/// The functions of a coprocessor.
#[derive(Clone, Copy)]
struct Calls {
    context: *mut c_void,
    make: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    init: Init,
    run: Run,
    free: Free,
}

/// The function that runs operations: one that sees the packet, or one that sees all views.
#[derive(Clone, Copy)]
enum Run {
    Packet(unsafe extern "C" fn(*mut c_void, u32, *mut u32, *const u8, usize) -> c_int),
    Views(unsafe extern "C" fn(*mut c_void, u32, *mut u32, *const Seen) -> c_int),
}

// SAFETY: the header says that units are made by any thread, so the caller has seen to it that
// `make` and `context` can be used by all.
unsafe impl Send for Calls {}
// SAFETY: as above.
unsafe impl Sync for Calls {}

/// A unit of a program.
struct Called {
    calls: Calls,
    unit: *mut c_void,
    /// Over all that it was given, which is what its state depends on.
    given: DefaultHasher,
}

// SAFETY: the header says that a unit may be used by any thread, one at a time, which `&mut self`
// sees to.
unsafe impl Send for Called {}

impl Calls {
    fn unit(self) -> Called {
        // SAFETY: the caller's function, with the caller's context.
        let unit = unsafe { (self.make)(self.context) };
        Called { calls: self, unit, given: DefaultHasher::new() }
    }
}

impl Coprocessor for Called {
    fn init(&mut self, data: &[u8]) -> u32 {
        data.hash(&mut self.given);
        match self.calls.init {
            _ if self.unit.is_null() => NOT_MADE,
            // SAFETY: the unit was made by `make` and is not freed yet; the bytes are there for the
            // call.
            Some(init) => unsafe { init(self.unit, data.as_ptr(), data.len()) },
            None => 0,
        }
    }

    fn invoke(&mut self, operation: u32, registers: &mut Registers, views: Views<'_>) -> Result<(), CoproError> {
        (operation, *registers, views).hash(&mut self.given);
        if self.unit.is_null() {
            return Err(CoproError::NotInitialised);
        }
        let (seen, registers) = (Seen::of(views), registers.as_mut_ptr());
        let result = match self.calls.run {
            // SAFETY: the unit was made by `make` and is not freed yet; the packet and all
            // registers are there for the call.
            Run::Packet(run) => unsafe { run(self.unit, operation, registers, seen.packet, seen.packet_len) },
            // SAFETY: as above, and so are the views.
            Run::Views(run) => unsafe { run(self.unit, operation, registers, &raw const seen) },
        };
        match result {
            0 => Ok(()),
            1 => Err(CoproError::NoPacket),
            3 => Err(CoproError::Full),
            4 => Err(CoproError::NotInitialised),
            _ => Err(CoproError::BadRegister),
        }
    }

    fn fingerprint(&self) -> u64 {
        self.given.finish()
    }
}

impl Seen {
    fn of(views: Views<'_>) -> Self {
        let parts = |view: Option<&[u8]>| view.map_or((std::ptr::null(), 0), |bytes| (bytes.as_ptr(), bytes.len()));
        let ((packet, packet_len), (info, info_len)) = (parts(views.packet), parts(views.info));
        Self { packet, packet_len, info, info_len }
    }
}

impl Drop for Called {
    fn drop(&mut self) {
        if let Some(free) = self.calls.free.filter(|_| !self.unit.is_null()) {
            // SAFETY: the unit was made by `make`, and nobody uses it any more.
            unsafe { free(self.unit) }
        }
    }
}

/// A string that stays.
///
/// # Safety
/// The pointer is null or points to a string that ends with NUL.
unsafe fn kept(at: *const c_char, what: &str) -> Result<&'static str, Fault> {
    // SAFETY: as this function's.
    let text = unsafe { text(at, what) }?.ok_or(Fault::null(what))?;
    Ok(Box::leak(text.to_owned().into_boxed_str()))
}

/// Registers a coprocessor; `views` takes the place of its `invoke`, if it is there.
///
/// # Safety
/// Its pointers are null or point to what the header says.
pub(crate) unsafe fn register(unit: &Unit, views: InvokeViews) -> Result<(), Fault> {
    let make = unit.make.ok_or(Fault::null("make"))?;
    let run = views.map(Run::Views).or(unit.invoke.map(Run::Packet)).ok_or(Fault::null("invoke"))?;
    let count = unit.operation_count as usize;
    if count > MAX_OPERATIONS || unit.registers as usize > MAX_REGISTERS {
        return Err(Fault::argument(format!("a coprocessor has at most {MAX_OPERATIONS} operations and {MAX_REGISTERS} registers")));
    }
    // SAFETY: as this function's.
    let names = unsafe { array(unit.operations, count, "the array of operations") }?;
    // SAFETY: as this function's.
    let name = unsafe { kept(unit.name, "the coprocessor's name") }?;
    // SAFETY: as this function's.
    let doc = if unit.doc.is_null() { "" } else { unsafe { kept(unit.doc, "its description") }? };
    // SAFETY: as this function's.
    let operations = names.iter().map(|name| unsafe { kept(*name, "an operation's name") }).collect::<Result<Vec<_>, _>>()?;
    let descriptor = Descriptor { name, registers: unit.registers, operations: operations.leak(), cost: unit.cost, prints: false, doc };
    let calls = Calls { context: unit.context, make, init: unit.init, run, free: unit.free };
    register_unit(descriptor, move || Box::new(calls.unit())).map_err(Fault::argument)
}
