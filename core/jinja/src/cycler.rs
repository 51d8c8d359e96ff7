//! Jinja2's functions `cycler` and `joiner`, whose objects return another value at each use.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use minijinja::value::{Kwargs, Object, ObjectRepr, Rest, Value, ValueKind, from_args};
use minijinja::{Environment, Error, ErrorKind, State};

use crate::fuel::{self, refused};

/// Adds the functions to an environment.
pub(super) fn add(environment: &mut Environment<'_>) {
    environment.add_function("cycler", |state: &mut State<'_, '_>, items: Rest<Value>| {
        fuel::values(state, items.len())?;
        // One that holds another could be nested without a limit.
        let is_plain = |item: &Value| {
            matches!(item.kind(), ValueKind::String | ValueKind::Number | ValueKind::Bool | ValueKind::None)
        };
        match items.iter().all(is_plain) {
            _ if items.is_empty() => Err(Error::new(ErrorKind::MissingArgument, "cycler takes at least one item")),
            false => Err(refused("cycler takes strings, numbers, booleans and none")),
            true => Ok(Value::from_object(Cycler { items: items.0, next: AtomicUsize::new(0) })),
        }
    });
    environment.add_function("joiner", |separator: Option<Value>, options: Kwargs| {
        let separator = separator.or(options.get("sep")?).unwrap_or_else(|| Value::from(", "));
        options.assert_all_used()?;
        match separator.kind() {
            ValueKind::String => Ok(Value::from_object(Joiner { separator, is_used: AtomicBool::new(false) })),
            _ => Err(refused("joiner takes a string")),
        }
    });
}

/// Whether a value can be called: functions are plain objects, and so is a cycler; macros are objects of their own type.
/// Jinja2 also says so of an undefined value, whose call is an error.
pub(super) fn is_callable(value: &Value) -> bool {
    let is_macro = value.as_object().is_some_and(|object| object.type_name().ends_with("::Macro"));
    is_macro
        || value.is_undefined()
        || value.kind() == ValueKind::Plain && value.downcast_object_ref::<Cycler>().is_none()
}

/// Returns its items one after the other, again and again.
#[derive(Debug)]
struct Cycler {
    items: Vec<Value>,
    next: AtomicUsize,
}

impl Object for Cycler {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let current = || self.items.get(self.next.load(Ordering::Relaxed)).cloned();
        (key.as_str() == Some("current")).then(current).flatten()
    }

    fn call_method(self: &Arc<Self>, _: &mut State<'_, '_>, method: &str, arguments: &[Value]) -> Result<Value, Error> {
        let () = from_args(arguments)?;
        match method {
            "next" => {
                let at = self.next.load(Ordering::Relaxed);
                self.next.store((at + 1) % self.items.len(), Ordering::Relaxed);
                Ok(self.items[at].clone())
            }
            "reset" => {
                self.next.store(0, Ordering::Relaxed);
                Ok(Value::from(()))
            }
            _ => Err(Error::from(ErrorKind::UnknownMethod)),
        }
    }
}

/// Returns nothing at the first call, and its separator at all others.
#[derive(Debug)]
struct Joiner {
    separator: Value,
    is_used: AtomicBool,
}

impl Object for Joiner {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, _: &mut State<'_, '_>, arguments: &[Value]) -> Result<Value, Error> {
        let () = from_args(arguments)?;
        let is_used = self.is_used.swap(true, Ordering::Relaxed);
        Ok(if is_used { self.separator.clone() } else { Value::from("") })
    }
}
