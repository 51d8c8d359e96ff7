//! Files beside a GGUF model that belong to it: which names they have, and which of several belongs to a model.

use std::cmp::Reverse;

use crate::names::quantisation::{of_stem, without_dynamic};

/// What the names of projector files contain, in any case.
pub(crate) const PROJECTOR_WORDS: [&str; 2] = ["mmproj", "projector"];

/// Whether a file's name is that of a projector.
pub(crate) fn is_projector(name: &str) -> bool {
    has_word(name, &PROJECTOR_WORDS)
}

/// Parts of the names of files that write frames of sound, in any case.
pub(crate) const AUDIO_DECODER_WORDS: [&str; 2] = ["vocoder", "audiodecoder"];
/// The part of the names of files that turn frames into samples.
pub(crate) const AUDIO_TOKENIZER_WORDS: [&str; 1] = ["tokenizer"];
/// What names say of the part that a file is.
const PART_WORDS: [&str; 6] = ["mmproj", "projector", "audioencoder", "vocoder", "audiodecoder", "tokenizer"];

/// Whether a file's name is that of a GGUF file with one of these words, in lower case.
pub(crate) fn has_word(name: &str, words: &[&str]) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with(".gguf") && words.iter().any(|word| name.contains(word))
}

/// The names of files that may be a part of a model, the one that seems to be the model's first.
pub(crate) fn ranked_parts(model: &str, mut names: Vec<String>) -> Vec<String> {
    let own = stem(model);
    let mut ranked = Vec::new();
    names.sort_by_key(|name| (stem(name) != own, name.clone()));
    while let Some(first) = names.first() {
        let own = without_type(first);
        let group: Vec<String> = names.iter().filter(|name| without_type(name) == own).cloned().collect();
        let best = choose_projector(model, &group).unwrap_or(first).to_owned();
        names.retain(|name| *name != best);
        ranked.push(best);
    }
    ranked
}

/// The projector of a model among files that fit it. Those with the model's own name come first, then the one with the model's
/// quantisation, then the nearest. `None` if they are named after several models, none of which is this one.
pub(crate) fn choose_projector<'a>(model: &str, projectors: &'a [String]) -> Option<&'a str> {
    let (own, own_tag, own_bits) = (stem(model), tag(model), bits(model));
    let mut stems: Vec<String> = projectors.iter().map(|name| stem(name)).collect();
    let is_own = |name: &&String| stem(name) == own;
    let has_own = projectors.iter().any(|name| is_own(&name));
    stems.sort();
    stems.dedup();
    if !has_own && stems.len() != 1 {
        return None;
    }
    // Of two that are equally near, the more precise one. F16 has more digits than BF16, and all processors compute it.
    let rank = |name: &&String| {
        let bits = bits(name);
        (
            tag(name) != own_tag,
            bits.abs_diff(own_bits),
            Reverse(bits),
            tag(name).as_deref() == Some("bf16"),
            (*name).clone(),
        )
    };
    projectors.iter().filter(|name| !has_own || is_own(name)).min_by_key(rank).map(String::as_str)
}

/// The name without what distinguishes the files of one model.
fn stem(name: &str) -> String {
    let mut name = without_type(name);
    PART_WORDS.iter().for_each(|word| name = name.replace(word, ""));
    name.trim_matches(['-', '.', '_']).replace("--", "-")
}

/// The name in lower case without the quantisation, by which the files of one part differ.
pub(crate) fn without_type(name: &str) -> String {
    let name = without_extension(name);
    let name = match of_stem(name) {
        Some(tag) => &name[..name.len() - tag.len()],
        None => name,
    };
    name.to_ascii_lowercase()
}

/// The quantisation in the name, in lower case.
fn tag(name: &str) -> Option<String> {
    of_stem(without_extension(name)).map(|tag| without_dynamic(tag).to_ascii_lowercase())
}

/// Bits of a weight, by the quantisation in the name; as in a plain file if it has none.
fn bits(name: &str) -> u32 {
    let tag = of_stem(without_extension(name)).map_or("F16", without_dynamic).trim_start_matches(['B', 'b', 'I', 'i']);
    let digits: String = tag.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(16)
}

fn without_extension(name: &str) -> &str {
    let end = name.len().saturating_sub(".gguf".len());
    name.get(..end).filter(|_| name.to_ascii_lowercase().ends_with(".gguf")).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(model: &str, projectors: &[&str], expect: Option<&str>) {
        let projectors: Vec<String> = projectors.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(choose_projector(model, &projectors), expect);
    }

    #[test]
    fn the_projector_with_the_models_name_and_the_nearest_precision_is_chosen() {
        let named = ["mmproj-LFM2-VL-1.6B-F16.gguf", "LFM2-VL-450M-mmproj-Q8_0.gguf", "mmproj-LFM2-VL-450M-F16.gguf"];
        check("LFM2-VL-450M-Q4_0.gguf", &named, Some(named[1]));
        check("LFM2-VL-450M-BF16.gguf", &named, Some(named[2]));
        check("LFM2-VL-1.6B-Q4_K_M.gguf", &named, Some(named[0]));
        check("LFM2-VL-3B-F16.gguf", &named, None);
        let bare = ["mmproj-BF16.gguf", "mmproj-F16.gguf", "mmproj-F32.gguf"];
        check("LFM2-VL-450M-UD-Q4_K_XL.gguf", &bare, Some(bare[1]));
        check("LFM2-VL-450M-BF16.gguf", &bare, Some(bare[0]));
        check("LFM2-VL-450M-F16.gguf", &bare, Some(bare[1]));
        check("LFM2-VL-450M-Q4_0.gguf", &bare[..1], Some(bare[0]));
        check("renamed.gguf", &["mmproj.gguf"], Some("mmproj.gguf"));
        check("renamed.gguf", &["mmproj-a-Q8_0.gguf", "a.mmproj-f16.gguf"], Some("a.mmproj-f16.gguf"));
        check("a.gguf", &[], None);
    }

    #[test]
    fn projectors_are_known_by_their_names() {
        assert!(is_projector("MMPROJ-a.GGUF") && is_projector("a-projector-f16.gguf"));
        assert!(!is_projector("a-f16.gguf") && !is_projector("mmproj-a.bin"));
    }
}
