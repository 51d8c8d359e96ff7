//! What the first lines of a chat say of its model.

use causerie::ModelInfo;

use crate::model::count;

/// The longest name of a model that is shown whole, in characters.
const MAX_NAME: usize = 80;

/// What to expect of the demo model, and how to talk with a larger one.
pub(super) fn of_demo(info: &ModelInfo) -> Vec<String> {
    let parameters = count(info.n_parameters);
    vec![
        format!(
            "causerie/demo, the model inside this program: with its {parameters} parameters it chooses functions, reads simple \
             drawings and hears short requests. It has no knowledge, and its other answers are often wrong."
        ),
        "To talk with a real model: `causerie chat --model NAME`, where NAME is a file, a folder or a name on huggingface.co, such \
         as LiquidAI/LFM2-1.2B-GGUF (0.7 GB, downloaded once)."
            .to_owned(),
    ]
}

/// What a model that was named is. Its file is not trusted to have a short name.
pub(super) fn of_model(name: &str, info: &ModelInfo, context_size: usize) -> Vec<String> {
    let own_name = info.name.as_deref().map(shortened).filter(|own| !own.is_empty() && own != name);
    let own_name = own_name.map(|own| format!("{own}, ")).unwrap_or_default();
    let storage = info.quantisation.first().map(|part| format!(" in {}", part.name)).unwrap_or_default();
    let sight = if info.supports_images { ", reads pictures" } else { "" };
    let hearing = if info.supports_audio { ", hears" } else { "" };
    let reasoning = if info.supports_reasoning { ", can reason first" } else { "" };
    vec![format!(
        "{name}: {own_name}family {}, {} parameters{storage}, {context_size} tokens of context{sight}{hearing}{reasoning}.",
        info.architecture,
        count(info.n_parameters)
    )]
}

fn shortened(name: &str) -> String {
    let mut shown: String = name.trim().chars().take(MAX_NAME).flat_map(char::escape_debug).collect();
    if name.trim().chars().nth(MAX_NAME).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_file_is_one_short_line() {
        assert_eq!(shortened(" LFM2 1.2B\n"), "LFM2 1.2B");
        assert_eq!(shortened("a\u{1b}[2J\nb"), "a\\u{1b}[2J\\nb");
        assert_eq!(shortened(&"x".repeat(100)), "x".repeat(80) + "…");
    }
}
