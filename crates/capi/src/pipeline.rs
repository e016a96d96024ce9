//! What a `netvm_pipeline` is: stages of C functions and configurations, with queues between them,
//! on threads.
//!
//! Invariants: a stage's function is called by one thread at a time with its own unit; what it may
//! send is what lies in its burst at that moment, and nothing of the burst is kept after the call.

use crate::coprocessor::Free;
use crate::filter::engine_of;
use crate::pointers::{Fault, array, name, names, text};
use crate::{NETVM_REFUSED, ReadingOf, StageOf, reading};
use netvm::application::Application;
use netvm::stages::{Burst, Counts, NotMade, Outlets, Packet, PacketMut, Pipeline, Running, Stage, Turn, Work};
use std::ffi::{c_char, c_int, c_void};
use std::time::Duration;

/// A packet of a burst, as C sees it.
pub use crate::Item;

/// What the stages are that something sends to, and what one is.
const NAMES: [&str; 2] = ["the array of stages", "a stage's name"];

/// `netvm_stage_make`.
pub type Make = Option<unsafe extern "C" fn(*mut c_void, u32) -> *mut c_void>;
/// `netvm_stage_run`.
pub type Run = Option<unsafe extern "C" fn(*mut c_void, *mut Item, usize, *mut Sends)>;
/// `netvm_stage_flow`.
pub type Flow = Option<unsafe extern "C" fn(*mut c_void, *const Item) -> u64>;
/// `netvm_input_run`.
pub type Input = Option<unsafe extern "C" fn(*mut c_void, *mut Sends) -> c_int>;

crate::abi::c_types!(
    Make = "netvm_stage_make",
    Run = "netvm_stage_run",
    Flow = "netvm_stage_flow",
    Input = "netvm_input_run",
    Sends = "netvm_outlets",
    Pipe = "netvm_pipeline"
);

/// Stages before they run, and then the threads: `netvm_pipeline` in C.
#[derive(Default)]
pub struct Pipe {
    made: Option<Pipeline>,
    runs: Option<Running>,
    /// What its threads had counted at the end.
    ended: Vec<Counts>,
}

/// What a stage or an input can send by, for the time of a call: `netvm_outlets` in C.
pub struct Sends {
    outlets: *mut Outlets,
    /// The burst that the stage was called with, and its packets as C sees them; none of an input.
    burst: *mut Burst,
    items: *mut Item,
}

/// Functions of C, with what they are called with.
#[derive(Clone, Copy)]
struct Calls {
    context: *mut c_void,
    make: Make,
    run: unsafe extern "C" fn(*mut c_void, *mut Item, usize, *mut Sends),
    free: Free,
}

// SAFETY: the header says that the functions are called by several threads, so the caller has seen
// to it that they and the context can be used by all.
unsafe impl Send for Calls {}
// SAFETY: as above.
unsafe impl Sync for Calls {}

/// Something of C's that other threads call, too.
#[derive(Clone, Copy)]
struct Shared<T>(T, *mut c_void);

// SAFETY: as for `Calls`.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as for `Calls`.
unsafe impl<T> Sync for Shared<T> {}

impl<T: Copy> Shared<T> {
    fn get(&self) -> (T, *mut c_void) {
        (self.0, self.1)
    }
}

/// A replica's work.
struct Unit {
    calls: Calls,
    unit: *mut c_void,
    items: Vec<Item>,
}

impl Calls {
    fn unit(self, replica: usize) -> Result<Box<dyn Work>, NotMade> {
        let unit = match self.make {
            // SAFETY: the caller's function, with the caller's context.
            Some(make) => unsafe { make(self.context, replica as u32) },
            None => self.context,
        };
        if unit.is_null() && self.make.is_some() {
            return Err(format!("replica {replica} could not be made").into());
        }
        Ok(Box::new(Unit { calls: self, unit, items: Vec::new() }))
    }
}

/// A packet as C sees it, its bytes where they are.
fn item(mut packet: PacketMut<'_>) -> Item {
    let len = packet.bytes.len() as u32;
    let (wire_len, time, tag) = ((*packet.wire_len()).max(len), *packet.time_ns(), *packet.tag());
    Item { data: packet.bytes.as_mut_ptr(), len, wire_len, time, tag }
}

impl Work for Unit {
    fn run(&mut self, burst: &mut Burst, outlets: &mut Outlets) {
        self.items.clear();
        self.items.extend(burst.iter_mut().map(item));
        let (items, count) = (self.items.as_mut_ptr(), self.items.len());
        let mut sends = Sends { outlets, burst, items };
        // SAFETY: the caller's function, with the unit that it made; the packets are there for the
        // call.
        unsafe { (self.calls.run)(self.unit, items, count, &mut sends) }
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        if let Some(free) = self.calls.free.filter(|_| self.calls.make.is_some()) {
            // SAFETY: the unit was made by `make`, and nobody uses it any more.
            unsafe { free(self.unit) }
        }
    }
}

impl Sends {
    /// The packet of the burst at that place, as it is in C's memory.
    ///
    /// # Safety
    /// It is within the call that it was made for.
    unsafe fn item(&self, index: usize) -> Result<*const Item, Fault> {
        if self.burst.is_null() {
            return Err(Fault::refused("an input has no burst to forward packets of"));
        }
        // SAFETY: the burst of the call, which nobody changes meanwhile.
        let count = unsafe { &*self.burst }.len();
        if index >= count {
            return Err(Fault::refused("the burst has no packet at this place"));
        }
        // SAFETY: there are as many as packets.
        Ok(unsafe { self.items.add(index) })
    }

    /// Sends a packet of the burst, by its place.
    ///
    /// # Safety
    /// As [`Self::item`].
    pub(crate) unsafe fn forward(&mut self, output: u32, index: usize) -> Result<(), Fault> {
        // SAFETY: as this function's.
        let item = unsafe { self.item(index) }?;
        // SAFETY: as above; its bytes are where they were, and no more.
        unsafe { self.send(output, item) }
    }

    /// Sends all packets of the burst; then it has none.
    ///
    /// # Safety
    /// As [`Self::item`].
    pub(crate) unsafe fn forward_all(&mut self, output: u32) -> Result<(), Fault> {
        // SAFETY: null, or the burst of the call, to which nothing else points while it is used
        // here.
        let burst = unsafe { self.burst.as_mut() }.ok_or_else(|| Fault::refused("an input has no burst to forward packets of"))?;
        // SAFETY: the outlets of the call, likewise.
        let outlets = unsafe { &mut *self.outlets };
        if outlets.name(output as usize).is_none() {
            return Err(no_output());
        }
        for (index, mut packet) in burst.iter_mut().enumerate() {
            // SAFETY: there are as many as packets.
            let place = unsafe { self.items.add(index) };
            // SAFETY: as above; C does not use it during the call.
            let item = unsafe { *place };
            packet.truncate(item.len as usize);
            (*packet.wire_len(), *packet.time_ns(), *packet.tag()) = (item.wire_len, item.time, item.tag);
        }
        outlets.send_all(output as usize, burst);
        Ok(())
    }

    /// Sends a packet of C's own memory.
    ///
    /// # Safety
    /// As [`Self::item`]; the packet is null or has so many bytes.
    pub(crate) unsafe fn send(&mut self, output: u32, item: *const Item) -> Result<(), Fault> {
        // SAFETY: as this function's.
        let item = unsafe { item.as_ref() }.ok_or_else(|| Fault::null("the packet"))?;
        // SAFETY: as this function's.
        let bytes = unsafe { array(item.data.cast_const(), item.len as usize, "a packet's data") }?;
        // SAFETY: the outlets of the call, to which nothing else points while they are used here.
        let outlets = unsafe { &mut *self.outlets };
        let sent = outlets.send(output as usize, Packet { bytes, wire_len: item.wire_len, time_ns: item.time, tag: item.tag });
        sent.then_some(()).ok_or_else(no_output)
    }
}

impl Sends {
    /// Whether the run is to end.
    ///
    /// # Safety
    /// As [`Self::forward`].
    pub(crate) unsafe fn is_stopping(&self) -> bool {
        // SAFETY: the outlets of the call.
        unsafe { &*self.outlets }.is_stopping()
    }
}

fn no_output() -> Fault {
    Fault::refused("the stage has no output of this number")
}

/// A stage of elements.
///
/// # Safety
/// Each pointer is null or points to a string that ends with NUL, or to what the header says.
unsafe fn elements(called: &str, of: &StageOf, reading: *const ReadingOf) -> Result<Stage, Fault> {
    // SAFETY: as this function's.
    let source = unsafe { name(of.configuration, "the configuration") }?;
    // SAFETY: as this function's.
    let engine = unsafe { engine_of(of.engine) }?;
    // SAFETY: as this function's.
    let reading = unsafe { reading::of(reading) }?;
    let application = Application::read(called, source, &reading)?;
    Stage::elements(called, application, engine).map_err(Fault::argument)
}

/// A stage as it is to be registered.
///
/// # Safety
/// Its pointers are null or point to what the header says.
unsafe fn stage(of: &StageOf, reading: *const ReadingOf) -> Result<Stage, Fault> {
    // SAFETY: as this function's.
    let called = unsafe { name(of.name, "the stage's name") }?;
    // SAFETY: as this function's.
    let to = unsafe { names(of.to, of.to_count, NAMES) }?;
    let made = match of.run {
        // SAFETY: as this function's.
        None => unsafe { elements(called, of, reading) }?,
        Some(_) if !reading.is_null() => return Err(Fault::argument(format!("stage {called} is a function, which is not read"))),
        Some(run) => {
            let calls = Calls { context: of.context, make: of.make, run, free: of.free };
            let make = move |replica| calls.unit(replica);
            to.iter().fold(Stage::made_by(called, make), |stage, to| stage.to(to))
        }
    };
    let made = made.replicas(of.replicas.max(1) as usize).resizable(of.most as usize);
    Ok(match classifier(of.flow, of.context) {
        Some(flow) => made.flow(flow),
        None => made,
    })
}

/// The caller's function, with the caller's context.
fn classifier(flow: Flow, context: *mut c_void) -> Option<impl Fn(&Packet<'_>) -> u64 + Send + Sync + 'static> {
    let shared = Shared(flow?, context);
    Some(move |packet: &Packet<'_>| {
        let (flow, context) = shared.get();
        let (data, len) = (packet.bytes.as_ptr().cast_mut(), packet.bytes.len() as u32);
        let item = Item { data, len, wire_len: packet.on_wire(), time: packet.time_ns, tag: packet.tag };
        // SAFETY: the caller's function, with the caller's context; the packet is there for the
        // call, and is not written to, as it is handed over as constant.
        unsafe { flow(context, &item) }
    })
}

/// Lets packets go to the replicas of a stage by another function, or by their addresses.
pub(crate) fn set_flow(running: &Running, stage: &str, flow: Flow, context: *mut c_void) -> Result<Duration, Fault> {
    let changed = match classifier(flow, context) {
        Some(flow) => running.set_flow(stage, flow),
        None => running.set_flow(stage, netvm::stages::by_addresses),
    };
    changed.map_err(Fault::refused)
}

impl Pipe {
    pub(crate) fn new() -> Self {
        Self { made: Some(Pipeline::default()), ..Self::default() }
    }

    fn made(&mut self) -> Result<&mut Pipeline, Fault> {
        self.made.as_mut().ok_or_else(|| Fault::refused("the pipeline has been started"))
    }

    pub(crate) fn runs(&self) -> Result<&Running, Fault> {
        self.runs.as_ref().ok_or_else(|| Fault::refused("the pipeline does not run"))
    }

    /// # Safety
    /// As [`stage`].
    pub(crate) unsafe fn stage(&mut self, of: *const StageOf, reading: *const ReadingOf) -> Result<(), Fault> {
        // SAFETY: as this function's.
        let of = unsafe { of.as_ref() }.ok_or(Fault::null("the stage"))?;
        // SAFETY: as this function's.
        let stage = unsafe { stage(of, reading) }?;
        self.made()?.stage(stage).map(drop).map_err(Fault::argument)
    }

    /// # Safety
    /// Pointers are null, or point to a string and to so many strings.
    pub(crate) unsafe fn input(
        &mut self,
        called: *const c_char,
        (to, count): (*const *const c_char, u32),
        function: Input,
        context: *mut c_void,
    ) -> Result<(), Fault> {
        // SAFETY: as this function's.
        let called = unsafe { name(called, "the input's name") }?;
        // SAFETY: as this function's.
        let to = unsafe { names(to, count, NAMES) }?;
        let shared = Shared(function.ok_or(Fault::null("the function"))?, context);
        let turn = move |outlets: &mut Outlets| {
            let (function, context) = shared.get();
            let mut sends = Sends { outlets, burst: std::ptr::null_mut(), items: std::ptr::null_mut() };
            // SAFETY: the caller's function, with the caller's context; the outlets are there for
            // the call.
            match unsafe { function(context, &mut sends) } {
                1.. => Turn::More,
                0 => Turn::Idle,
                _ => Turn::End,
            }
        };
        self.made()?.input(called, &to, turn).map(drop).map_err(Fault::argument)
    }

    pub(crate) fn start(&mut self) -> Result<(), Fault> {
        self.made()?;
        let pipeline = self.made.take().unwrap_or_default();
        let running = pipeline.start().map_err(|why| Fault { status: crate::NETVM_ENGINE, message: format!("error: {why}\n") })?;
        self.runs = Some(running);
        Ok(())
    }

    /// Waits for the end; then it does not run any more.
    pub(crate) fn wait(&mut self) -> Result<(), Fault> {
        self.runs()?;
        let ended = self.runs.take().map_or(Ok(Vec::new()), Running::wait);
        self.ended = ended.map_err(|why| Fault { status: NETVM_REFUSED, message: format!("error: {why}\n") })?;
        Ok(())
    }

    /// # Safety
    /// The pointer is null or points to a string.
    pub(crate) unsafe fn counts(&self, stage: *const c_char, replica: u32) -> Result<crate::Counts, Fault> {
        // SAFETY: as this function's.
        let stage = unsafe { name(stage, "the stage's name") }?;
        let all = self.runs.as_ref().map_or_else(|| self.ended.clone(), Running::counts);
        let found = all.into_iter().find(|it| it.stage == stage && it.replica == replica as usize);
        let it = found.ok_or_else(|| Fault::refused("there is no such thread"))?;
        let core = it.core.map_or(-1, |core| core as c_int);
        let (waiting, active) = (it.waiting as u32, u32::from(it.is_active));
        Ok(crate::Counts { packets: it.packets, bursts: it.bursts, sent: it.sent, lost: it.lost, waiting, active, core })
    }
}

/// Asks a thread of a stage.
///
/// # Safety
/// The strings are null or end with NUL.
pub(crate) unsafe fn of<'a>(pipe: *const Pipe, stage: *const c_char) -> Result<(&'a Running, &'a str), Fault> {
    // SAFETY: null, or a pipeline that is this thread's for the call.
    let pipe = unsafe { pipe.as_ref() }.ok_or(Fault::null("the pipeline"))?;
    // SAFETY: as this function's.
    Ok((pipe.runs()?, unsafe { name(stage, "the stage's name") }?))
}

/// A handler's name and a text, which may be null.
///
/// # Safety
/// The strings are null or end with NUL.
pub(crate) unsafe fn words<'a>(handler: *const c_char, value: *const c_char) -> Result<(&'a str, &'a str), Fault> {
    // SAFETY: as this function's.
    let handler = unsafe { name(handler, "the handler") }?;
    // SAFETY: as this function's.
    Ok((handler, unsafe { text(value, "the text") }?.unwrap_or_default()))
}
