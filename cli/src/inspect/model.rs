//! `causerie inspect model`: describes a model and its memory use from the headers of its files.

use std::fmt::Display;
use std::io;

use causerie::{LoadOptions, MemoryEstimate, ModelInfo};
use serde_json::json;

use crate::arguments::InspectModel;
use crate::byte_size;
use crate::failure::Failure;
use crate::model::{LocalModel, count};
use crate::output::print_line;

pub(super) fn run(arguments: &InspectModel, model: &LocalModel) -> Result<(), Failure> {
    let info = model.info()?;
    let context_size = arguments.context.size.unwrap_or(info.context_size.min(LoadOptions::DEFAULT_CONTEXT_SIZE));
    let memory = info.memory_estimate(context_size);
    if arguments.json {
        return Ok(print_line(object(&info, &memory))?);
    }
    Ok(print(&info, &memory)?)
}

fn object(info: &ModelInfo, memory: &MemoryEstimate) -> serde_json::Value {
    let quantisation = info
        .quantisation
        .iter()
        .map(|part| json!({"name": part.name, "bytes": part.n_bytes, "share": part.share}))
        .collect::<Vec<_>>();
    json!({
        "name": info.name,
        "architecture": info.architecture,
        "parameters": info.n_parameters,
        "layers": info.n_layers,
        "attention_layers": info.n_attentions,
        "convolution_layers": info.n_convolutions,
        "delta_net_layers": info.n_delta_nets,
        "hidden_size": info.hidden_size,
        "feed_forward_size": info.feed_forward_size,
        "heads": info.n_heads,
        "key_value_heads": info.n_key_heads,
        "head_size": info.head_size,
        "sliding_window": info.sliding_window,
        "experts": info.n_experts,
        "experts_used": info.n_experts_used,
        "context_size": info.context_size,
        "vocabulary": info.n_vocabulary,
        "quantisation": quantisation,
        "packed_bytes": info.packed_bytes,
        "tokenizer": info.tokenizer,
        "chat_template": info.has_chat_template,
        "capabilities": {
            "function_calling": info.supports_function_calling,
            "reasoning": info.supports_reasoning,
            "images": info.supports_images,
            "audio": info.supports_audio,
            "speech": info.supports_speech,
        },
        "memory": {
            "context_size": memory.context_size,
            "total": memory.total(),
            "weights": memory.weights,
            "vision": memory.vision,
            "hearing": memory.hearing,
            "speech": memory.speech,
            "key_values": memory.key_values,
            "convolutions": memory.convolutions,
            "delta_nets": memory.delta_nets,
            "working": memory.working,
        },
        "unused_tensors": info.unused_tensors,
        "missing_speech": info.missing_speech,
        "problems": info.problems,
    })
}

fn print(info: &ModelInfo, memory: &MemoryEstimate) -> io::Result<()> {
    let line = |what: &str, value: &dyn Display| print_line(format_args!("{what:<14} {value}"));
    if let Some(name) = &info.name {
        // A name from a file may contain escape sequences of terminals.
        line("name", &name.escape_debug())?;
    }
    line("architecture", &info.architecture)?;
    line("parameters", &count(info.n_parameters))?;
    let mut kinds = format!("{} attention, {} convolution", info.n_attentions, info.n_convolutions);
    if 0 < info.n_delta_nets {
        kinds += &format!(", {} delta net", info.n_delta_nets);
    }
    line("layers", &format!("{} ({kinds})", info.n_layers))?;
    line("hidden size", &info.hidden_size)?;
    line("feed-forward", &info.feed_forward_size)?;
    line("heads", &format!("{} of size {}, {} for keys and values", info.n_heads, info.head_size, info.n_key_heads))?;
    if let Some(window) = info.sliding_window {
        line("window", &format!("{window} tokens"))?;
    }
    if 0 < info.n_experts {
        line("experts", &format!("{}, {} per token", info.n_experts, info.n_experts_used))?;
    }
    line("context", &format!("{} tokens", info.context_size))?;
    line("vocabulary", &format!("{} tokens", info.n_vocabulary))?;
    let parts = info.quantisation.iter().map(|part| format!("{} {:.1} %", part.name, part.share * 100.0));
    line("weights", &parts.collect::<Vec<_>>().join(", "))?;
    if 0 < info.packed_bytes {
        line("packed", &format!("{}, which can be mapped", byte_size::format(info.packed_bytes)))?;
    }
    if let Some(tokenizer) = &info.tokenizer {
        line("tokenizer", &tokenizer.escape_debug())?;
    }
    let template = match (info.has_chat_template, info.supports_function_calling) {
        (false, _) => "none: the model completes prompts, but supports no conversations",
        (true, true) => "supports functions",
        (true, false) => "does not support functions",
    };
    let reasoning = if info.supports_reasoning { ", supports reasoning" } else { "" };
    let images = if info.supports_images { ", supports images" } else { "" };
    let audio = if info.supports_audio { ", hears" } else { "" };
    let speech = if info.supports_speech { ", speaks" } else { "" };
    line("chat template", &format!("{template}{reasoning}{images}{audio}{speech}"))?;
    if let Some(missing) = &info.missing_speech {
        line("missing", &missing.escape_debug())?; // it may have names of files
    }
    line("memory", &format!("{} with {} tokens of context:", byte_size::format(memory.total()), memory.context_size))?;
    for (what, n_bytes) in [
        ("weights", Some(memory.weights)),
        ("vision", Some(memory.vision).filter(|_| info.supports_images)),
        ("hearing", Some(memory.hearing).filter(|_| info.supports_audio)),
        ("speech", Some(memory.speech).filter(|_| info.supports_speech)),
        ("keys and values", Some(memory.key_values)),
        ("convolutions", Some(memory.convolutions)),
        ("delta nets", Some(memory.delta_nets).filter(|_| 0 < info.n_delta_nets)),
        ("working", Some(memory.working)),
    ] {
        if let Some(n_bytes) = n_bytes {
            line("", &format!("{what} {}", byte_size::format(n_bytes)))?;
        }
    }
    if let Some(first) = info.unused_tensors.first() {
        let others = match info.unused_tensors.len() - 1 {
            0 => String::new(),
            1 => " and 1 other".to_owned(),
            n => format!(" and {n} others"),
        };
        line("unused", &format!("tensor {}{others}", first.escape_debug()))?;
    }
    info.problems.iter().try_for_each(|problem| line("problem", problem))
}
