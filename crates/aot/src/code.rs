//! Compiled code, loaded, and the form of it for this processor.

use crate::build::Compiler;
use crate::cache::{Cache, key};
use crate::{AotError, io_error};
use compiler::backends::c::{self, LANES};
use compiler::mir::Func;
use compiler::passes;
use netil::Verified;
use netil::module::HandlerKind;
use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;

/// A burst as compiled code sees it: `struct nv_burst` of the C prelude.
#[repr(C)]
pub(crate) struct Burst {
    pub packets: *const &'static [u8],
    pub count: u64,
    pub selected: *mut u64,
    pub wire_len: *const u32,
    pub time_ns: *const u64,
    pub data: *const u8,
    pub budget: u32,
}

/// A whole-burst function.
pub(crate) type Select = unsafe extern "C" fn(*const Burst);

/// How to compile and where to keep it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Do not use the user's cache.
    pub no_cache: bool,
    /// Use this form: `scalar` or the name of one of [`LANES`]. A program that does not have it
    /// gets `scalar`. For tests and measurements.
    pub form: Option<&'static str>,
}

/// A filter as machine code.
pub struct Code {
    pub(crate) select: Select,
    /// The form chosen: `scalar`, `avx2`, `avx512` …
    pub form: &'static str,
    _library: Library,
}

impl Code {
    /// Compiled code for a filter, from the cache or the compiler.
    ///
    /// # Errors
    /// The program is not for C, there is no compiler, it fails, or the result cannot be loaded.
    pub fn new(program: &Verified, options: &Options) -> Result<Self, AotError> {
        let source = CSource::new(program, options)?;
        let cache = match options.no_cache {
            true => Cache::passing()?,
            // Where there is no cache, all works, only slower.
            false => Cache::user().or_else(|_| Cache::passing())?,
        };
        let path = cache.find_or_make(&source.key, |path| Compiler::system()?.compile(&source.text, source.flags(), path))?;
        Self::load(&path, options)
    }

    /// Compiled code for a filter, if it is in the user's cache.
    ///
    /// # Errors
    /// As [`Code::new`], but for those of the compiler.
    pub fn cached(program: &Verified, options: &Options) -> Result<Option<Self>, AotError> {
        if options.no_cache {
            return Ok(None);
        }
        let path = Cache::user()?.find(&CSource::new(program, options)?.key)?;
        path.map(|path| Self::load(&path, options)).transpose()
    }

    fn load(path: &Path, options: &Options) -> Result<Self, AotError> {
        let library = Library::open(path)?;
        let forms = LANES.iter().filter(|lanes| has(lanes.name)).map(|lanes| (lanes.name, lanes.function)).chain([("scalar", c::SCALAR)]);
        // One at a time is what remains of programs that cannot be many at a time.
        let wanted = |name: &str| name == "scalar" || options.form.is_none_or(|form| form == name);
        let found = forms.filter(|(name, _)| wanted(name)).find_map(|(name, function)| {
            let at = library.symbol(function)?;
            // SAFETY: the text defines a function of that name with this signature.
            Some((name, unsafe { std::mem::transmute::<NonNull<c_void>, Select>(at) }))
        });
        match found {
            Some((form, select)) => Ok(Self { select, form, _library: library }),
            None => Err(AotError::Load(format!("it has no form '{}' for this processor", options.form.unwrap_or("scalar")))),
        }
    }
}

/// C text, and the key of what becomes of it.
struct CSource {
    text: String,
    key: String,
    plain: bool,
}

impl CSource {
    fn new(program: &Verified, options: &Options) -> Result<Self, AotError> {
        let func = optimised(program)?;
        let plain = matches!(options.form, Some("any" | "scalar"));
        let text = c::emit(program, &func)?;
        let compiler = Compiler::system()?.identity();
        let key = key(&[&text, &compiler, std::env::consts::ARCH, env!("CARGO_PKG_VERSION"), if plain { c::PLAIN } else { "" }]);
        Ok(Self { text, key, plain })
    }

    /// Whoever asks for a form that any machine can run is spared the compilation of the others.
    fn flags(&self) -> &'static [&'static str] {
        if self.plain { &["-DNV_PLAIN"] } else { &[] }
    }
}

/// What C is made of.
fn optimised(program: &Verified) -> Result<Func, c::Unsupported> {
    let optimised = compiler::optimised(program, HandlerKind::Push, &passes::Options::lanes());
    let (func, _) = optimised.ok().flatten().ok_or_else(|| c::Unsupported("a program without code for packets".to_owned()))?;
    Ok(func)
}

/// What a filter costs as C for many packets at once, to compare forms of one filter with; `None`
/// where it is not for that.
pub fn weight(program: &Verified) -> Option<f64> {
    c::weight(program, &optimised(program).ok()?).ok()?
}

/// Whether code of a form, or of the one chosen where none is named, treats many packets at once on
/// this processor.
pub fn treats_many(form: Option<&str>) -> bool {
    let many = |lanes: &c::Lanes| form.map_or(lanes.name != "any", |form| form == lanes.name) && has(lanes.name);
    LANES.iter().any(many)
}

/// Whether this processor can run a form.
pub fn has(form: &str) -> bool {
    match form {
        #[cfg(target_arch = "x86_64")]
        "avx512" => {
            let base = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
            base && is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx512vl")
        }
        #[cfg(target_arch = "x86_64")]
        "avx2" => is_x86_feature_detected!("avx2"),
        "any" | "scalar" => true,
        _ => false,
    }
}

/// A shared object in this process.
pub(crate) struct Library(NonNull<c_void>);

// SAFETY: a handle of the dynamic loader may be used by any thread.
unsafe impl Send for Library {}
// SAFETY: as above; nothing is changed through it until it is dropped.
unsafe impl Sync for Library {}

impl Library {
    /// Loads a file of a cache. The loader knows files by their names: two with one name would be
    /// one.
    pub(crate) fn open(path: &Path) -> Result<Self, AotError> {
        let path = CString::new(path.as_os_str().as_bytes()).map_err(|e| io_error("a path")(e.into()))?;
        // SAFETY: the path is a C string. The object's only code that runs now is what the compiler
        // adds to every object.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        NonNull::new(handle).map(Self).ok_or_else(|| AotError::Load(last_error()))
    }

    pub(crate) fn symbol(&self, name: &str) -> Option<NonNull<c_void>> {
        let name = CString::new(name).ok()?;
        // SAFETY: the handle is open and the name a C string.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: the handle is open, and whoever has a function of it has the library, too.
        unsafe { libc::dlclose(self.0.as_ptr()) };
    }
}

fn last_error() -> String {
    // SAFETY: it gives null or a C string that lives until this thread's next call of the loader.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "no reason given".to_owned();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
