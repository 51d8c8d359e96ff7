//! The fields that say how a reply is generated. Their ranges are checked where the library checks them.

use std::collections::BTreeMap;

use causerie::GenerationOptions;
use hyper::StatusCode;
use serde_json::Value as Json;

use crate::serve::fault::Fault;
use crate::serve::fields::{Fields, expected};

const MOST_TOKENS: i64 = i32::MAX as i64;
const MOST_STOPS: usize = 16;
/// Alternatives of each token.
pub(super) const MOST_LOGPROBS: i64 = 20;
const LONGEST_STOP: usize = 1024;
/// Of the names of ignored fields that are told.
const MOST_IGNORED_BYTES: usize = 2048;
/// Choices of one request.
const MOST_CHOICES: i64 = 8;

/// How a reply is written.
pub(super) struct Delivery {
    /// Choices.
    pub(super) n: usize,
    pub(super) is_stream: bool,
    pub(super) include_usage: bool,
    /// Fields that were ignored.
    pub(super) ignored: Vec<String>,
}

impl Delivery {
    /// The names of ignored fields as a header can carry them: without line breaks, and no longer than clients take.
    pub(super) fn ignored_names(&self) -> String {
        let escaped = self.ignored.iter().map(|name| name.escape_debug().to_string());
        let mut left = MOST_IGNORED_BYTES;
        let (mut told, longer): (Vec<String>, Vec<String>) = escaped.partition(|name| {
            let fits = name.len() <= left;
            left -= if fits { name.len() } else { 0 };
            fits
        });
        if !longer.is_empty() {
            told.push("...".to_owned());
        }
        told.join(", ")
    }
}

/// The sampling fields, as the library's options.
pub(super) fn read_options(fields: &mut Fields) -> Result<GenerationOptions, Fault> {
    let max_tokens = fields.integer("max_tokens", 1, MOST_TOKENS)?;
    let max_tokens = fields.integer("max_completion_tokens", 1, MOST_TOKENS)?.or(max_tokens);
    let temperature = fields.number("temperature")?;
    if let Some(temperature) = temperature.filter(|temperature| 2.0 < *temperature) {
        return Err(Fault::value("temperature", format!("temperature is {temperature}, expected 0 to 2")));
    }
    let options = GenerationOptions {
        temperature,
        top_p: fields.number("top_p")?,
        // -1 is another way to say that all are kept.
        top_k: fields.integer("top_k", -1, MOST_TOKENS)?.map(|k| usize::try_from(k).unwrap_or(0)),
        min_p: fields.number("min_p")?,
        repetition_penalty: fields.number("repetition_penalty")?,
        presence_penalty: fields.number("presence_penalty")?,
        frequency_penalty: fields.number("frequency_penalty")?,
        logit_bias: read_biases(fields.take("logit_bias"))?,
        // A negative seed is as good as any: its bits count.
        seed: fields.integer("seed", i64::MIN, i64::MAX)?.map(i64::cast_unsigned),
        max_tokens: max_tokens.and_then(|tokens| usize::try_from(tokens).ok()),
        ignore_end: fields.flag("ignore_eos")?.unwrap_or(false),
        stop_sequences: read_stops(fields.take("stop"))?,
        ..Default::default()
    };
    options.check().map_err(|err| Fault::of(&err))?;
    Ok(options)
}

/// What is added to the logits of tokens, which are named by id.
fn read_biases(biases: Option<Json>) -> Result<BTreeMap<u32, f32>, Fault> {
    let biases = match biases {
        None => return Ok(BTreeMap::new()),
        Some(Json::Object(biases)) => biases,
        Some(value) => return Err(expected("logit_bias", "an object", &value)),
    };
    let read = |(id, bias): (String, Json)| match (id.parse(), bias.as_f64()) {
        (Ok(id), Some(bias)) => Ok((id, bias as f32)), // as precise as the option
        _ => Err(expected(
            "logit_bias",
            "token ids with numbers",
            &Json::from([(id, bias)].into_iter().collect::<serde_json::Map<_, _>>()),
        )),
    };
    biases.into_iter().map(read).collect()
}

fn read_stops(stop: Option<Json>) -> Result<Vec<String>, Fault> {
    let stops = match stop {
        None => return Ok(Vec::new()),
        Some(Json::Array(stops)) if stops.len() <= MOST_STOPS => stops,
        Some(Json::String(stop)) => vec![Json::String(stop)],
        Some(value) => return Err(no_stop(&value)),
    };
    let read = |stop: Json| match stop {
        Json::String(stop) if (1..=LONGEST_STOP).contains(&stop.len()) => Ok(stop),
        value => Err(no_stop(&value)),
    };
    stops.into_iter().map(read).collect()
}

fn no_stop(value: &Json) -> Fault {
    expected("stop", &format!("a text of 1 to {LONGEST_STOP} bytes, or at most {MOST_STOPS} of them"), value)
}

/// How the reply is wanted, and the end of reading: fields that change a reply and cannot be honoured are refused, those
/// without effect are passed, and the rest is refused or named.
pub(super) fn read_delivery(mut fields: Fields, is_strict: bool) -> Result<Delivery, Fault> {
    let n = fields.integer("n", 1, MOST_CHOICES)?.unwrap_or(1);
    let is_stream = fields.flag("stream")?.unwrap_or(false);
    let mut stream_options = fields.object("stream_options")?;
    let include_usage = stream_options.flag("include_usage")?.unwrap_or(false);
    stream_options.refuse("continuous_usage_stats", is_off).map_err(|fault| fault.at("stream_options"))?;
    // An obfuscation of lengths against listeners on the line: there is none here.
    stream_options.take("include_obfuscation");
    refuse_unsupported(&mut fields)?;
    for name in ["user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"] {
        fields.take(name);
    }
    fields.ignore_rest("stream_options", stream_options);
    let ignored = passed(fields.rest(), is_strict)?;
    Ok(Delivery { n: usize::try_from(n).unwrap_or(1), is_stream, include_usage, ignored })
}

/// Names of what is ignored: they are told, unless the server is strict.
pub(super) fn passed(names: Vec<String>, is_strict: bool) -> Result<Vec<String>, Fault> {
    match names.first() {
        Some(name) if is_strict => Err(Fault::new(
            StatusCode::BAD_REQUEST,
            "unknown_field",
            format!("this server does not know {name}, or would ignore it"),
        )
        .at(name)),
        _ => Ok(names),
    }
}

fn refuse_unsupported(fields: &mut Fields) -> Result<(), Fault> {
    fields.refuse("min_tokens", |value| value.as_f64() == Some(0.0))?;
    fields.refuse("use_beam_search", is_off)?;
    for name in ["stop_token_ids", "bad_words"] {
        fields.refuse(name, is_empty)?;
    }
    fields.refuse("modalities", |value| value == &serde_json::json!(["text"]))?;
    fields.refuse("best_of", |value| value.as_u64() == Some(1))?;
    fields.refuse("typical_p", |value| value.as_f64() == Some(1.0))?;
    fields.refuse("function_call", |value| value == "none" || value == "auto")?;
    for name in [
        "audio",
        "functions",
        "guided_choice",
        "guided_grammar",
        "guided_json",
        "guided_regex",
        "grammar",
        "json_schema",
        "chat_template",
        "prediction",
        "structured_outputs",
        "suffix",
        "web_search_options",
    ] {
        // An empty object may ask for something: any JSON, or a search as usual.
        fields.refuse(name, |value| value == "" || value.as_array().is_some_and(Vec::is_empty))?;
    }
    Ok(())
}

fn is_off(value: &Json) -> bool {
    value == &Json::Bool(false)
}

fn is_empty(value: &Json) -> bool {
    value.as_object().is_some_and(serde_json::Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}
