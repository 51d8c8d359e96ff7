//! Options, messages and facts, which JavaScript passes and gets as JSON.

use causerie::{ChatMessage, FunctionError, FunctionOutcome, ModelInfo, Value, messages_from_json, read_json};
use causerie_plain::NamedOptions;
use serde_json::json;

use crate::failure::{failed, failed_with};

fn object(text: &str, what: &str) -> napi::Result<causerie::Arguments> {
    match read_json(text) {
        Some(Value::Object(members)) => Ok(members),
        _ => Err(failed_with("serialization", &format!("{what} must be a JSON object"))),
    }
}

/// Reads an object of options.
pub(crate) fn options_of(text: &str) -> napi::Result<NamedOptions> {
    let mut options = NamedOptions::default();
    for (name, value) in object(text, "options")? {
        options.set(&name, &value).map_err(failed)?;
    }
    Ok(options)
}

/// Reads a message in the form of chat completions.
pub(crate) fn message_of(text: &str) -> napi::Result<ChatMessage> {
    let messages = messages_from_json(&format!("[{text}]")).map_err(failed)?;
    messages.into_iter().next().ok_or_else(|| failed_with("invalid_message", "message must be given, found none"))
}

/// Reads the outcome of a function: `{"value"}`, `{"failed"}` or `{"timedOut"}`. A value that cannot be passed on is a failure,
/// which the model reads.
pub(crate) fn outcome(text: &str) -> FunctionOutcome {
    let Some(Value::Object(mut members)) = read_json(text) else {
        // One level less than in `read_json`: the value is within an object.
        let reason = "the result of the function must be JSON that is nested at most 127 deep";
        return FunctionOutcome::Failed(FunctionError::new(reason));
    };
    if let Some(value) = members.swap_remove("value") {
        return FunctionOutcome::Returned(value);
    }
    match members.swap_remove("failed") {
        Some(reason) => FunctionOutcome::Failed(FunctionError::new(reason.as_str().unwrap_or_default())),
        None => FunctionOutcome::TimedOut,
    }
}

/// Facts about a model.
pub(crate) fn info_json(info: &ModelInfo, context_size: usize) -> String {
    json!({
        "name": info.name,
        "architecture": info.architecture,
        "parameters": info.n_parameters,
        "layers": info.n_layers,
        "contextSize": context_size,
        "trainedContextSize": info.context_size,
        "vocabularySize": info.n_vocabulary,
        "quantisation": info.quantisation.iter().map(|share| share.name.as_str()).collect::<Vec<_>>(),
        "supportsFunctionCalling": info.supports_function_calling,
        "functionCallParser": info.function_call_parser.names().first(),
        "supportsReasoning": info.supports_reasoning,
        "supportsImages": info.supports_images,
        "supportsAudio": info.supports_audio,
        "supportsSpeech": info.supports_speech,
        "memoryEstimate": info.memory_estimate(context_size).total(),
        "unusedTensors": info.unused_tensors,
        "problems": info.problems,
    })
    .to_string()
}
