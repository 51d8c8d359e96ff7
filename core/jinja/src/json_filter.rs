//! The filter `tojson`.

use minijinja::value::{Kwargs, Rest, Value, ValueKind, ValueOrKwargs, from_args};
use minijinja::{Error, State};

use crate::fuel::refused;
use crate::python::{self, MAX_INDENT};

/// `tojson` with the parameters that transformers gives it.
pub(super) fn tojson(state: &mut State<'_, '_>, value: &Value, arguments: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    type Options = (Option<Value>, Option<Value>, Option<Vec<String>>, Option<Value>, Kwargs);
    let (is_ascii, indent, separators, sort_keys, options): Options = from_args(&arguments.into_values())?;
    let is_ascii = is_ascii.or(options.get("ensure_ascii")?).is_some_and(|flag| flag.is_true());
    let indent = indent.or(options.get("indent")?).map(|indent| json_indent(&indent)).transpose()?;
    let separators = separators.or(options.get("separators")?).map(<[String; 2]>::try_from).transpose();
    let separators =
        separators.map_err(|_| refused("separators must be an array of two strings"))?.map(|[item, key]| (item, key));
    let sort_keys = sort_keys.or(options.get("sort_keys")?).is_some_and(|flag| flag.is_true());
    options.assert_all_used()?;
    let text = python::json(state, value, &python::JsonFormat { indent, separators, sort_keys })?;
    let text = if is_ascii { python::ascii_json(state, &text)? } else { text };
    Ok(Value::from(text))
}

/// The indent of JSON: a string, or a number of spaces.
fn json_indent(indent: &Value) -> Result<String, Error> {
    let wrong = || refused("an indent must be a string or an integer");
    match indent.kind() {
        ValueKind::String => Ok(indent.to_string()),
        ValueKind::Bool => Ok(" ".repeat(usize::from(indent.is_true()))),
        _ => {
            let n_spaces = i128::try_from(indent.clone()).map_err(|_| wrong())?.clamp(0, MAX_INDENT as i128 + 1);
            Ok(" ".repeat(n_spaces as usize)) // at most 17
        }
    }
}
