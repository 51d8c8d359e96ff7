//! Errors as C gets them: a status, and a message that is kept for the thread.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use causerie::{ErrorKind, SdkError};

/// What a function returns. The header explains the values.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Ok = 0,
    InvalidArgument = 1,
    InvalidHandle = 2,
    NotAvailable = 3,
    ModelNotFound = 4,
    ModelLoad = 5,
    OutOfMemory = 6,
    LoadCancelled = 7,
    ModelUnloaded = 8,
    Busy = 9,
    PromptExceedsContext = 10,
    InvalidOption = 11,
    InvalidMessage = 12,
    InvalidFunction = 13,
    FunctionCallingUnsupported = 14,
    UnsupportedContent = 15,
    Generation = 16,
    Serialization = 17,
    Session = 18,
    Internal = 19,
}

/// An error on its way to C.
#[derive(Debug)]
pub(crate) struct Fault {
    status: Status,
    message: String,
}

impl Fault {
    pub(crate) fn new(status: Status, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self::new(Status::InvalidArgument, message)
    }

    pub(crate) fn null(name: &str) -> Self {
        Self::argument(format!("{name} must not be null"))
    }
}

impl From<SdkError> for Fault {
    fn from(err: SdkError) -> Self {
        let status = match err.kind() {
            ErrorKind::ModelNotFound => Status::ModelNotFound,
            ErrorKind::ModelLoad => Status::ModelLoad,
            ErrorKind::OutOfMemory { .. } => Status::OutOfMemory,
            ErrorKind::LoadCancelled => Status::LoadCancelled,
            ErrorKind::ModelUnloaded => Status::ModelUnloaded,
            ErrorKind::Busy => Status::Busy,
            ErrorKind::PromptExceedsContext { .. } => Status::PromptExceedsContext,
            ErrorKind::InvalidOption(_) => Status::InvalidOption,
            ErrorKind::InvalidMessage => Status::InvalidMessage,
            ErrorKind::InvalidFunction => Status::InvalidFunction,
            ErrorKind::InvalidArgument => Status::InvalidArgument,
            ErrorKind::FunctionCallingUnsupported => Status::FunctionCallingUnsupported,
            ErrorKind::UnsupportedContent => Status::UnsupportedContent,
            ErrorKind::Generation => Status::Generation,
            ErrorKind::Serialization => Status::Serialization,
            ErrorKind::Session(_) => Status::Session,
            _ => Status::Internal,
        };
        Self::new(status, err.to_string())
    }
}

thread_local! {
    /// The message of the last call on this thread that failed.
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// The message on a thread that has ended so far that nothing can be kept for it.
const NO_MESSAGE: &CStr = c"the thread is ending";

/// Runs a call of C. A panic must not reach C, so it becomes a status.
pub(crate) fn guarded(call: impl FnOnce() -> Result<(), Fault>) -> Status {
    // Nothing that a panic left unfinished is used again: what the calls share is behind locks that each holds for one step.
    let fault = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => return Status::Ok,
        Ok(Err(fault)) => fault,
        Err(panic) => Fault::new(Status::Internal, format!("causerie panicked: {}", reason(&*panic))),
    };
    let message = CString::new(fault.message.replace('\0', "\u{FFFD}")).unwrap_or_default();
    // Fails in a destructor of the thread that runs after the message's own: the status is left.
    drop(MESSAGE.try_with(|last| last.replace(message)));
    fault.status
}

fn reason(panic: &(dyn Any + Send)) -> &str {
    panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str)).unwrap_or_default()
}

/// The message of the last call on this thread that failed. The next failure on the thread overwrites it.
pub(crate) fn message() -> *const c_char {
    MESSAGE.try_with(|message| message.borrow().as_ptr()).unwrap_or(NO_MESSAGE.as_ptr())
}
