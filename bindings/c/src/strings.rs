//! Strings that C gets and frees, and what the library says about itself.

use std::collections::HashMap;
use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::LazyLock;

use parking_lot::Mutex;

use crate::border::{Out, Text};
use crate::fault::{Fault, Status};

/// The strings that C holds, by their address.
static STRINGS: LazyLock<Mutex<HashMap<usize, CString>>> = LazyLock::new(Mutex::default);

/// Gives C a string. A zero in it would end it, so it becomes U+FFFD.
pub(crate) fn give(text: &str) -> *const c_char {
    let text = CString::new(text.replace('\0', "\u{FFFD}")).unwrap_or_default();
    let address = text.as_ptr();
    STRINGS.lock().insert(address.addr(), text);
    address
}

impl Out<*const c_char> {
    /// Gives C a string.
    pub(crate) fn give(&self, text: &str, name: &str) -> Result<(), Fault> {
        self.check(name)?;
        self.write_if_wanted(|| give(text));
        Ok(())
    }

    /// Gives C a string if it asks for one; null if there is none.
    pub(crate) fn give_if_wanted(&self, text: Option<&str>) {
        self.write_if_wanted(|| text.map_or(ptr::null(), give));
    }
}

exports! {
    fn causerie_string_free(string: Text) {
        let address = string.address();
        if address != 0 && STRINGS.lock().remove(&address).is_none() {
            return Err(Fault::new(Status::InvalidHandle, "string must be one of causerie's that is not freed"));
        }
    }

    fn causerie_version(version: Out<*const c_char>) {
        version.give(env!("CARGO_PKG_VERSION"), "version")?;
    }
}
