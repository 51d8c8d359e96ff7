//! Options, which are set by name.

use causerie::{Value, read_json};
use causerie_plain::NamedOptions;
use parking_lot::Mutex;

use crate::border::{Flag, Out, Text};
use crate::fault::Fault;
use crate::handles::Handle;

pub(crate) type Options = Mutex<NamedOptions>;

/// The options of a call. Null has the defaults.
pub(crate) fn chosen(options: Handle<Options>) -> Result<NamedOptions, Fault> {
    if options.is_null() {
        return Ok(NamedOptions::default());
    }
    Ok(options.get("options")?.lock().clone())
}

fn set(options: Handle<Options>, name: &Text, value: &Value) -> Result<(), Fault> {
    Ok(options.get("options")?.lock().set(name.read("name")?, value)?)
}

exports! {
    fn causerie_options_new(options: Out<Handle<Options>>) {
        options.check("options")?;
        options.write(Handle::new(Mutex::default()), "options")?;
    }

    fn causerie_options_set_number(options: Handle<Options>, name: Text, value: f64) {
        if !value.is_finite() {
            return Err(Fault::argument(format!("{} must be finite, found {value}", name.read("name")?)));
        }
        set(options, &name, &Value::Number(value))?;
    }

    fn causerie_options_set_integer(options: Handle<Options>, name: Text, value: i64) {
        set(options, &name, &Value::Integer(value))?;
    }

    fn causerie_options_set_bool(options: Handle<Options>, name: Text, value: Flag) {
        set(options, &name, &Value::Bool(value.is_set()))?;
    }

    fn causerie_options_set_string(options: Handle<Options>, name: Text, value: Text) {
        let value = value.read_optional("value")?.map_or(Value::Null, Value::from);
        set(options, &name, &value)?;
    }

    fn causerie_options_set_json(options: Handle<Options>, name: Text, json: Text) {
        let value = read_json(json.read("json")?).ok_or_else(|| Fault::argument("json must be valid JSON"))?;
        set(options, &name, &value)?;
    }

    fn causerie_options_free(options: Handle<Options>) {
        options.free("options")?;
    }
}
