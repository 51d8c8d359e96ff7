//! Handles: numbers that C holds instead of pointers. A table has the objects, so that no handle, however wrong, is a danger.

use std::any::Any;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;

use crate::fault::{Fault, Status};

type Object = Arc<dyn Any + Send + Sync>;

static OBJECTS: LazyLock<Mutex<HashMap<usize, Object>>> = LazyLock::new(Mutex::default);

/// The number of the next handle. Numbers are not used again, so that a freed handle never names another object.
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// A `T` that C holds. In C it is a pointer to an incomplete type, which nothing reads through.
#[repr(transparent)]
pub(crate) struct Handle<T>(usize, PhantomData<fn() -> T>);

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

impl<T: Any + Send + Sync> Handle<T> {
    pub(crate) const NULL: Self = Self(0, PhantomData);

    pub(crate) fn new(object: T) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        OBJECTS.lock().insert(number, Arc::new(object));
        Self(number, PhantomData)
    }

    /// The same number as a handle of another type, as a caller may confuse them.
    #[cfg(test)]
    pub(crate) fn cast<U>(self) -> Handle<U> {
        Handle(self.0, PhantomData)
    }

    pub(crate) fn is_null(self) -> bool {
        self.0 == 0
    }

    /// The object. It lives on during a call, even if the handle is freed meanwhile.
    pub(crate) fn get(self, name: &str) -> Result<Arc<T>, Fault> {
        if self.is_null() {
            return Err(Fault::null(name));
        }
        let object = OBJECTS.lock().get(&self.0).cloned();
        object.and_then(|object| object.downcast().ok()).ok_or_else(|| wrong(name))
    }

    /// Frees the handle. Null is not an error.
    pub(crate) fn free(self, name: &str) -> Result<Option<Arc<T>>, Fault> {
        if self.is_null() {
            return Ok(None);
        }
        let object = self.get(name)?;
        // Another thread may have freed it just now.
        let freed = OBJECTS.lock().remove(&self.0).ok_or_else(|| wrong(name))?;
        drop(freed); // after the lock is released: an object may take time to end
        Ok(Some(object))
    }
}

fn wrong(name: &str) -> Fault {
    Fault::new(Status::InvalidHandle, format!("{name} must be a handle of its type that is not freed"))
}
