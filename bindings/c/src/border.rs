//! The border to C: where memory of the caller is read and written. This is the only file of the C interface with unsafe code.
//!
//! The types below are what C passes: pointers that C alone can make. The header states what a caller guarantees for them, and
//! each block below rests on one of those guarantees.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};
use std::slice;

use crate::fault::Fault;

/// Defines functions for C. Each returns a status, and catches panics.
macro_rules! exports {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        $(#[$attribute])*
        // SAFETY: the name begins with `causerie_`, which no other library has.
        #[allow(unsafe_code)]
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name($($argument: $type),*) -> $crate::fault::Status {
            $crate::fault::guarded(move || {
                $body
                Ok(())
            })
        }
    )*};
}

// SAFETY: as in `exports!`.
#[unsafe(no_mangle)]
extern "C" fn causerie_error_message() -> *const c_char {
    crate::fault::message()
}

/// A string of the caller: null, or bytes that end with a zero.
#[repr(transparent)]
pub(crate) struct Text(*const c_char);

impl Text {
    /// The string. `name` is what the header calls it.
    pub(crate) fn read(&self, name: &str) -> Result<&str, Fault> {
        self.read_optional(name)?.ok_or_else(|| Fault::null(name))
    }

    /// The string; `None` if it is null.
    pub(crate) fn read_optional(&self, name: &str) -> Result<Option<&str>, Fault> {
        if self.0.is_null() {
            return Ok(None);
        }
        // SAFETY: the pointer is not null. The caller guarantees that it points to bytes which end with a zero, and which do not
        // change during the call; the result does not outlive `self`, which is an argument of the call.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map(Some).map_err(|_| Fault::argument(format!("{name} must be UTF-8")))
    }

    /// The address, to look up strings that this library gave.
    pub(crate) fn address(&self) -> usize {
        self.0.addr()
    }
}

/// A `bool` of the caller. A caller in another language may pass another number than 0 and 1, which a `bool` of Rust must not be.
#[repr(transparent)]
pub(crate) struct Flag(u8);

impl Flag {
    pub(crate) fn is_set(&self) -> bool {
        self.0 != 0
    }
}

/// The first of some bytes of the caller. Their number is an argument of its own.
#[repr(transparent)]
pub(crate) struct Bytes(*const u8);

impl Bytes {
    /// The bytes.
    pub(crate) fn read(&self, length: usize, name: &str) -> Result<&[u8], Fault> {
        if self.0.is_null() {
            return Err(Fault::null(name));
        }
        if isize::try_from(length).is_err() {
            return Err(Fault::argument(format!("{name} must have fewer bytes, found {length}")));
        }
        // SAFETY: the pointer is not null, and the length is at most `isize::MAX`. The caller guarantees that as many bytes can be
        // read from it, and that they do not change during the call; the result does not outlive `self`.
        Ok(unsafe { slice::from_raw_parts(self.0, length) })
    }
}

/// Where the caller wants a result.
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Fails if the pointer is null. Called before work that must not be lost.
    pub(crate) fn check(&self, name: &str) -> Result<(), Fault> {
        if self.0.is_null() { Err(Fault::null(name)) } else { Ok(()) }
    }

    /// Writes the result.
    pub(crate) fn write(&self, value: T, name: &str) -> Result<(), Fault> {
        self.check(name)?;
        self.write_if_wanted(|| value);
        Ok(())
    }

    /// Writes the result, unless the pointer is null.
    pub(crate) fn write_if_wanted(&self, value: impl FnOnce() -> T) {
        if !self.0.is_null() {
            let value = value();
            // SAFETY: the pointer is not null. The caller guarantees that it points to memory for a `T`, which nothing else
            // reads or writes during the call.
            unsafe { self.0.write(value) };
        }
    }
}

/// The first element of memory of the caller for several results. The number of elements is an argument of its own.
#[repr(transparent)]
pub(crate) struct Buffer<T>(*mut T);

impl<T: Copy> Buffer<T> {
    /// Copies as many values as there is memory for. A null buffer has memory for none.
    pub(crate) fn fill(&self, values: &[T], capacity: usize) {
        if !self.0.is_null() {
            let n_values = values.len().min(capacity);
            // SAFETY: the pointer is not null. The caller guarantees that it points to memory for `capacity` elements, which
            // nothing else reads or writes during the call; so it does not overlap `values`, which this library owns.
            unsafe { self.0.copy_from_nonoverlapping(values.as_ptr(), n_values) };
        }
    }
}

/// For tests, which are C callers written in Rust.
#[cfg(test)]
pub(crate) mod caller {
    use super::{Buffer, Bytes, Flag, Out, Text};

    pub(crate) fn text(text: &std::ffi::CStr) -> Text {
        Text(text.as_ptr())
    }

    pub(crate) fn no_text() -> Text {
        Text(std::ptr::null())
    }

    pub(crate) fn bytes(bytes: &[u8]) -> Bytes {
        Bytes(bytes.as_ptr())
    }

    pub(crate) fn flag(byte: u8) -> Flag {
        Flag(byte)
    }

    /// A string that the library gave.
    pub(crate) fn given(text: *const std::ffi::c_char) -> Text {
        Text(text)
    }

    /// A copy of a string that the library gave.
    pub(crate) fn read(text: *const std::ffi::c_char) -> String {
        given(text).read("text").unwrap().to_owned()
    }

    pub(crate) fn out<T>(place: &mut T) -> Out<T> {
        Out(place)
    }

    pub(crate) fn nowhere<T>() -> Out<T> {
        Out(std::ptr::null_mut())
    }

    pub(crate) fn buffer<T>(values: &mut [T]) -> Buffer<T> {
        Buffer(values.as_mut_ptr())
    }
}
