//! What the files of a folder say of a Whisper model.

use serde_json::Value as Json;

use crate::checkpoint::config_object::Config;
use crate::checkpoint::folder_tensors::{FolderTensors, RowChange};
use crate::checkpoint::invalid::invalid;
use crate::checkpoint::whisper::architecture::WhisperArchitecture;
use crate::checkpoint::whisper::names::{CONVOLUTIONS, IN_LAYER, IN_TEXT_LAYER, PARTS, TABLES, kernel_columns};
use crate::checkpoint::whisper::tokens::WhisperTokens;
use crate::error::Result;
use crate::weights::{Folder, Tensors};

/// How the names of tensors begin.
const PREFIXES: [&str; 2] = ["model.", ""];

pub(super) fn architecture(config: &Json) -> Result<WhisperArchitecture> {
    let config = Config(config);
    match config.text("model_type")? {
        Some("whisper") => {}
        found => {
            let found = found.unwrap_or("unknown");
            return Err(invalid(format!("model_type in config.json must be whisper, found {found:?}")));
        }
    }
    match config.text("activation_function")? {
        None | Some("gelu") => {}
        Some(found) => {
            return Err(invalid(format!("activation_function in config.json must be gelu, found {found:?}")));
        }
    }
    for flag in ["scale_embedding", "use_weighted_layer_sum"] {
        if config.boolean(&[flag])? == Some(true) {
            return Err(invalid(format!("{flag} in config.json is not supported")));
        }
    }
    let count = |key: &'static str| config.needed_count(&[key]);
    Ok(WhisperArchitecture {
        n_bins: count("num_mel_bins")?,
        n_sound_positions: count("max_source_positions")?,
        hidden: count("d_model")?,
        n_sound_layers: count("encoder_layers")?,
        n_sound_heads: count("encoder_attention_heads")?,
        n_text_layers: count("decoder_layers")?,
        n_text_heads: count("decoder_attention_heads")?,
        n_text_positions: count("max_target_positions")?,
        n_vocabulary: count("vocab_size")?,
    })
}

pub(super) fn tokens(config: &Json, generation: &Json, architecture: &WhisperArchitecture) -> Result<WhisperTokens> {
    let files = [generation, config];
    let id = |value: &Json| value.as_u64().and_then(|id| u32::try_from(id).ok());
    let stated = |key: &str| files.iter().find_map(|file| file.get(key).and_then(id));
    let ids =
        |key: &str| files.iter().find_map(|file| file.get(key)?.as_array()?.iter().map(id).collect::<Option<Vec<_>>>());
    let mut tokens = WhisperTokens::of_vocabulary(stated("eos_token_id"), architecture);
    tokens.start = stated("decoder_start_token_id").unwrap_or(tokens.start);
    if let Some(id) = stated("no_timestamps_token_id") {
        tokens = tokens.with_no_times(id);
    }
    if let Some(id) = stated("prev_sot_token_id") {
        tokens.previous = id;
    }
    if let Some(tasks) = generation.get("task_to_id") {
        tokens.transcribe = tasks.get("transcribe").and_then(id).unwrap_or(tokens.transcribe);
        tokens.translate = tasks.get("translate").and_then(id).unwrap_or(tokens.translate);
    }
    if let Some(languages) = generation.get("lang_to_id").and_then(Json::as_object) {
        let code = |token: &str| token.strip_prefix("<|")?.strip_suffix("|>").map(str::to_owned);
        let mut found: Vec<_> =
            languages.iter().filter_map(|(token, value)| Some((code(token)?, id(value)?))).collect();
        found.sort_by_key(|(_, id)| *id);
        tokens.languages = found;
    } else if generation.get("is_multilingual").and_then(Json::as_bool) == Some(false) {
        tokens.languages.clear();
    }
    tokens.suppressed = ids("suppress_tokens");
    tokens.suppressed_first = ids("begin_suppress_tokens");
    if let Some(most) = generation.get("max_initial_timestamp_index").and_then(Json::as_u64) {
        tokens.latest_start = usize::try_from(most).unwrap_or(usize::MAX);
    }
    Ok(tokens)
}

/// The tensors under their names.
pub(super) fn tensors(folder: &Folder, architecture: &WhisperArchitecture) -> Result<Tensors> {
    let mut found = FolderTensors::new(folder);
    for (name, in_folder) in TABLES {
        found.add(name.to_owned(), &possible(in_folder, ""), RowChange::default())?;
    }
    for (name, in_folder) in PARTS {
        add(&mut found, name, in_folder)?;
    }
    for (name, in_folder) in CONVOLUTIONS {
        add_kernels(&mut found, &format!("{name}.weight"), &possible(in_folder, ".weight"))?;
        found.add(format!("{name}.bias"), &possible(in_folder, ".bias"), RowChange::default())?;
    }
    let text: Vec<_> = IN_LAYER.into_iter().chain(IN_TEXT_LAYER).collect();
    for (side, n_layers, parts) in
        [("encoder", architecture.n_sound_layers, &IN_LAYER[..]), ("decoder", architecture.n_text_layers, &text)]
    {
        for layer in 0..n_layers {
            for (part, in_folder) in parts {
                let names = (format!("{side}.blocks.{layer}.{part}"), format!("{side}.layers.{layer}.{in_folder}"));
                add(&mut found, &names.0, &names.1)?;
            }
        }
    }
    Ok(found.tensors)
}

/// Adds the weights and the bias of a part.
fn add(found: &mut FolderTensors<'_>, name: &str, in_folder: &str) -> Result<()> {
    for end in [".weight", ".bias"] {
        found.add(format!("{name}{end}"), &possible(in_folder, end), RowChange::default())?;
    }
    Ok(())
}

/// Adds the kernels of a convolution, `(outputs, inputs, size)`, as a matrix whose columns are the columns of windows of rows:
/// `(outputs, size * inputs)`.
fn add_kernels(found: &mut FolderTensors<'_>, name: &str, possible: &[String]) -> Result<()> {
    let shape = possible.iter().find_map(|name| found.folder.shape(name));
    match shape {
        Some(&[n_rows, n_inputs, size]) => {
            let columns = kernel_columns(n_inputs, size);
            let shape = vec![n_rows, n_inputs * size];
            found.add_shaped(name.to_owned(), possible, Some(shape), RowChange::columns(columns))
        }
        _ => found.add(name.to_owned(), possible, RowChange::default()), // which is refused later
    }
}

/// The possible names of a tensor in folders.
fn possible(in_folder: &str, end: &str) -> Vec<String> {
    PREFIXES.iter().map(|prefix| format!("{prefix}{in_folder}{end}")).collect()
}
