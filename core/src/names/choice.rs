//! Which files of a repository, or of a snapshot of it, are the model that a name means.

use std::collections::BTreeMap;

use crate::error::{ErrorKind, Result, SdkError};
use crate::names::model_name::is_plain_path;
use crate::names::quantisation::{is_computed, is_precise, is_quantisation, of_stem, without_dynamic};

/// The tag of the weights in safetensors, in a repository that has GGUF files, too.
const SAFETENSORS: &str = "safetensors";
/// The tag that other tools show for a model without a tag. It means the preferred model.
const LATEST: &str = "latest";
/// Quantisations that are preferred, in this order. llama.cpp has the same, so that both use one file.
const PREFERRED: [&str; 2] = ["Q4_K_M", "Q8_0"];
const WEIGHTS: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";
/// The files beside the weights that loading reads.
const BESIDE_WEIGHTS: [&str; 13] = [
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "preprocessor_config.json",
    "processor_config.json",
    "additional_chat_templates/tool_use.jinja",
    // What turns frames of sound into samples.
    "audio_detokenizer/config.json",
    "audio_detokenizer/model.safetensors",
];
/// Files that stand in for a missing tokenizer.json.
const OTHER_TOKENIZERS: [&str; 3] = ["tokenizer.model", "vocab.json", "merges.txt"];
/// Parts of names of GGUF files that are not language models of their own: projectors, audio parts, draft models.
const HELPERS: [&str; 6] = ["mmproj", "projector", "vocoder", "audiodecoder", "audio-decoder", "audio_decoder"];
/// Whole words in such names.
const HELPER_WORDS: [&str; 5] = ["imatrix", "mtp", "eagle3", "dflash", "dspark"];

/// A file in the listing of a repository or folder.
///
/// ```
/// let file = causerie::names::ListedFile { path: "model-Q4_0.gguf".to_owned(), size: 1 << 30 };
/// assert_eq!(file.size, 1_073_741_824);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFile {
    /// The path in the repository, with `/`.
    pub path: String,
    /// The size in bytes.
    pub size: u64,
}

/// The files of one model.
///
/// ```
/// use causerie::names::{ListedFile, ModelFiles, choose_files};
///
/// let listing = ["a-Q4_K_M.gguf", "a-Q8_0.gguf", "README.md"].map(|path| ListedFile { path: path.to_owned(), size: 1 });
/// let chosen = choose_files("ns/a", &listing, Some("q8_0"))?;
/// assert_eq!(chosen, ModelFiles::Gguf(vec!["a-Q8_0.gguf".to_owned()]));
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelFiles {
    /// The GGUF file, all its shards in order, or the file of a URL. The first one is loaded.
    Gguf(Vec<String>),
    /// A folder of safetensors. If `index` is given, the files that it names belong to the model as well.
    Folder {
        /// The files to load, small ones first.
        files: Vec<String>,
        /// The index that names the files of weights.
        index: Option<String>,
    },
}

/// Chooses the files of the model that a tag means; without a tag or with `latest`, the files of the preferred one. GGUF files come
/// before safetensors, unless the tag is `safetensors`. `name` is only for messages.
///
/// ```
/// use causerie::names::{ListedFile, choose_files};
///
/// let listing = [ListedFile { path: "a-Q8_0.gguf".to_owned(), size: 1 }];
/// let err = choose_files("ns/a", &listing, Some("Q4_0")).unwrap_err();
/// assert_eq!(err.to_string(), "ns/a has no Q4_0: it has Q8_0");
/// ```
///
/// # Errors
/// [`ErrorKind::ModelNotFound`] if there is no such model or several equal ones; the message lists what there is.
pub fn choose_files(name: &str, files: &[ListedFile], tag: Option<&str>) -> Result<ModelFiles> {
    let has = |path: &str| files.iter().any(|file| file.path == path);
    let has_weights = has(WEIGHTS) || has(INDEX);
    let tag = tag.filter(|tag| !tag.eq_ignore_ascii_case(LATEST));
    let wants_weights = tag.is_some_and(|tag| tag.eq_ignore_ascii_case(SAFETENSORS));
    if wants_weights && !has_weights {
        return Err(not_found(format!("{name} has neither {WEIGHTS} nor {INDEX}")));
    }
    if wants_weights || tag.is_none() && has_weights && candidates(files).is_empty() {
        return Ok(folder(&has));
    }
    choose_gguf(name, files, tag).map(ModelFiles::Gguf)
}

/// All models in a listing, with the tag that names each: a quantisation, or the path of a file if that is not enough.
///
/// ```
/// use causerie::names::{ListedFile, list_models};
///
/// let listing = ["a-Q4_0.gguf", "a-Q8_0.gguf", "mmproj-a.gguf"].map(|path| ListedFile { path: path.to_owned(), size: 1 });
/// let tags: Vec<String> = list_models(&listing).into_iter().map(|(tag, _)| tag).collect();
/// assert_eq!(tags, ["Q4_0", "Q8_0"]);
/// ```
pub fn list_models(files: &[ListedFile]) -> Vec<(String, ModelFiles)> {
    let candidates = candidates(files);
    let is_unique = |tag: &str| candidates.iter().filter(|one| one.is_tagged(tag)).count() == 1;
    let tag =
        |one: &ModelCandidate| one.tag.clone().filter(|tag| is_unique(tag)).or_else(|| one.files.first().cloned());
    let named = |one: &ModelCandidate| Some((tag(one)?, ModelFiles::Gguf(one.files.clone())));
    let mut models: Vec<_> = candidates.iter().filter_map(named).collect();
    models.extend(choose_files("", files, Some(SAFETENSORS)).ok().map(|files| (SAFETENSORS.to_owned(), files)));
    models
}

/// Chooses among GGUF files only.
pub(crate) fn choose_gguf(name: &str, files: &[ListedFile], tag: Option<&str>) -> Result<Vec<String>> {
    let candidates = candidates(files);
    let chosen = match tag {
        Some(tag) => tagged(&candidates, tag)
            .or_else(|| whole_name(files, tag))
            .ok_or_else(|| not_found(unknown_tag(name, &candidates, tag)))?,
        None => preferred(&candidates),
    };
    match &chosen[..] {
        [one] => Ok(one.files.clone()),
        [] => Err(not_found(format!("{name} has neither {WEIGHTS} nor a GGUF file of a language model"))),
        several => {
            let files: Vec<&str> = several.iter().filter_map(|one| one.files.first()).map(String::as_str).collect();
            Err(not_found(format!("{name} must mean one model, found {}: name one of them", files.join(", "))))
        }
    }
}

/// A GGUF file, or all parts of one.
#[derive(Clone)]
struct ModelCandidate {
    tag: Option<String>,
    size: u64,
    files: Vec<String>,
}

impl ModelCandidate {
    fn is_tagged(&self, tag: &str) -> bool {
        self.tag.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(tag))
    }

    fn has_tag(&self, accepts: fn(&str) -> bool) -> bool {
        self.tag.as_deref().is_some_and(accepts)
    }
}

/// All complete language models among the GGUF files.
fn candidates(files: &[ListedFile]) -> Vec<ModelCandidate> {
    let gguf = files.iter().filter(|file| is_plain_path(&file.path) && !is_helper(&file.path));
    complete_sets(gguf)
}

fn complete_sets<'a>(files: impl Iterator<Item = &'a ListedFile>) -> Vec<ModelCandidate> {
    let mut sets: BTreeMap<(&str, usize), BTreeMap<usize, &ListedFile>> = BTreeMap::new();
    for file in files {
        if let Some((stem, part, n_parts)) = split_name(&file.path) {
            sets.entry((stem, n_parts)).or_default().insert(part, file);
        }
    }
    let is_complete = |((_, n_parts), parts): &((&str, usize), BTreeMap<usize, &ListedFile>)| {
        parts.len() == *n_parts && parts.keys().copied().eq(1..=*n_parts)
    };
    let candidate = |((stem, _), parts): ((&str, usize), BTreeMap<usize, &ListedFile>)| ModelCandidate {
        tag: tag_of(stem).map(str::to_owned),
        size: parts.values().fold(0, |sum, part| sum.saturating_add(part.size)),
        files: parts.values().map(|part| part.path.clone()).collect(),
    };
    sets.into_iter().filter(is_complete).map(candidate).collect()
}

/// Splits the path of a GGUF file: its stem, the number of its part, and the number of parts.
fn split_name(path: &str) -> Option<(&str, usize, usize)> {
    let end = path.len().checked_sub(".gguf".len())?;
    let (stem, extension) = path.split_at_checked(end)?;
    if !extension.eq_ignore_ascii_case(".gguf") {
        return None;
    }
    let split = || {
        let (before, n_parts) = stem.rsplit_once("-of-")?;
        let (before, part) = before.rsplit_once('-')?;
        let number = |digits: &str| (digits.len() == 5).then(|| digits.parse::<usize>().ok())?;
        let (part, n_parts) = (number(part)?, number(n_parts)?);
        (1 <= part && part <= n_parts).then_some((before, part, n_parts))
    };
    Some(split().unwrap_or((stem, 1, 1)))
}

/// The quantisation in a file's name, or else in the name of its folder.
fn tag_of(stem: &str) -> Option<&str> {
    let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    let folder = folder.rsplit('/').next().unwrap_or_default();
    of_stem(name).or_else(|| is_quantisation(folder).then_some(folder)).or_else(|| of_stem(folder))
}

fn is_helper(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let has_word = |word: &&str| name.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| part == *word);
    let is_decoder = name.contains("audio") && name.contains("decoder");
    is_decoder
        || HELPERS.iter().any(|part| name.contains(part))
        || HELPER_WORDS.iter().any(has_word)
        || name.starts_with("tokenizer-")
}

/// The candidates with a tag, exactly, or else apart from `UD-`.
fn tagged(candidates: &[ModelCandidate], tag: &str) -> Option<Vec<ModelCandidate>> {
    let exact = |one: &&ModelCandidate| one.is_tagged(tag);
    let similar =
        |one: &&ModelCandidate| one.tag.as_deref().is_some_and(|own| without_dynamic(own).eq_ignore_ascii_case(tag));
    let found: Vec<ModelCandidate> = candidates.iter().filter(exact).cloned().collect();
    let found = if found.is_empty() { candidates.iter().filter(similar).cloned().collect() } else { found };
    (!found.is_empty()).then_some(found)
}

/// The file of this name, with all its parts. Whoever names a whole file gets it, also if it is not preferred for anything.
fn whole_name(files: &[ListedFile], tag: &str) -> Option<Vec<ModelCandidate>> {
    let sets = complete_sets(files.iter().filter(|file| is_plain_path(&file.path)));
    let is_named =
        |path: &String| path == tag || path.rsplit('/').next().is_some_and(|name| name.eq_ignore_ascii_case(tag));
    let found: Vec<ModelCandidate> = sets.into_iter().filter(|set| set.files.iter().any(is_named)).collect();
    (!found.is_empty()).then_some(found)
}

/// The preferred candidates: several only if they are equal.
fn preferred(candidates: &[ModelCandidate]) -> Vec<ModelCandidate> {
    for tag in PREFERRED {
        if let Some(found) = tagged(candidates, tag) {
            return found;
        }
    }
    let with = |accepts: fn(&str) -> bool| candidates.iter().filter(move |one| one.has_tag(accepts));
    let smallest = with(is_precise).min_by_key(|one| one.size);
    let largest = || with(is_computed).max_by_key(|one| one.size);
    if let Some(one) = smallest.or_else(largest) {
        return vec![one.clone()];
    }
    let untagged: Vec<ModelCandidate> = candidates.iter().filter(|one| one.tag.is_none()).cloned().collect();
    if untagged.is_empty() { candidates.to_vec() } else { untagged }
}

fn folder(has: &dyn Fn(&str) -> bool) -> ModelFiles {
    let tokenizers = if has("tokenizer.json") { &[][..] } else { &OTHER_TOKENIZERS };
    let beside = BESIDE_WEIGHTS.iter().chain(tokenizers).filter(|path| has(path));
    let mut files: Vec<String> = beside.map(|path| (*path).to_owned()).collect();
    // The single file comes first: an index may be left over from an earlier version of the model.
    if has(WEIGHTS) {
        files.push(WEIGHTS.to_owned());
        return ModelFiles::Folder { files, index: None };
    }
    files.push(INDEX.to_owned());
    ModelFiles::Folder { files, index: Some(INDEX.to_owned()) }
}

fn unknown_tag(name: &str, candidates: &[ModelCandidate], tag: &str) -> String {
    let label = |one: &ModelCandidate| one.tag.clone().or_else(|| one.files.first().cloned());
    let mut tags: Vec<String> = candidates.iter().filter_map(label).collect();
    tags.dedup();
    match tags.is_empty() {
        true => format!("{name} has no {tag}, and no GGUF file of a language model"),
        false => format!("{name} has no {tag}: it has {}", tags.join(", ")),
    }
}

fn not_found(message: String) -> SdkError {
    SdkError::new(ErrorKind::ModelNotFound, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files whose sizes are their positions, from 1.
    fn listing(paths: &[&str]) -> Vec<ListedFile> {
        paths.iter().zip(1..).map(|(path, size)| ListedFile { path: (*path).to_owned(), size }).collect()
    }

    /// The chosen files, separated by spaces, or the message.
    fn chosen(paths: &[&str], tag: Option<&str>) -> String {
        match choose_files("n/m", &listing(paths), tag) {
            Ok(ModelFiles::Gguf(files)) => files.join(" "),
            Ok(ModelFiles::Folder { files, .. }) => files.join(" "),
            Err(err) => err.to_string(),
        }
    }

    #[test]
    fn the_preferred_quantisation_is_chosen_without_a_tag() {
        for (paths, expect) in [
            (&["m-Q8_0.gguf", "m-Q4_K_M.gguf", "m-Q4_0.gguf"][..], "m-Q4_K_M.gguf"),
            (&["m-F16.gguf", "m-Q8_0.gguf", "m-Q4_0.gguf"], "m-Q8_0.gguf"),
            (&["m-Q2_K.gguf", "m-Q5_K_S.gguf", "m-F16.gguf"], "m-Q5_K_S.gguf"),
            (&["m-Q2_K.gguf", "m-Q3_K_L.gguf", "m-IQ2_M.gguf"], "m-Q3_K_L.gguf"),
            (&["m-UD-Q4_K_M.gguf", "m-F16.gguf"], "m-UD-Q4_K_M.gguf"),
            (&["m.gguf", "README.md"], "m.gguf"),
            (&["m-MXFP4.gguf"], "m-MXFP4.gguf"),
            (&["m-Q4_K_M.gguf", "config.json", "model.safetensors"], "m-Q4_K_M.gguf"),
            (&["BF16/m-BF16.gguf", "Q4_K_M/m.gguf"], "Q4_K_M/m.gguf"),
            (&["config.json", "model.safetensors"], "config.json model.safetensors"),
        ] {
            assert_eq!(chosen(paths, None), expect, "{paths:?}");
            assert_eq!(chosen(paths, Some("Latest")), expect, "{paths:?}: as Ollama and llama.cpp write it");
        }
    }

    #[test]
    fn a_tag_is_a_quantisation_or_a_file() {
        let paths = ["m-Q4_0.gguf", "m-UD-Q4_K_XL.gguf", "m-Q8_0.gguf", "mmproj-m-F16.gguf", "sub/other-Q4_1.gguf"];
        for (tag, expect) in [
            ("q4_0", "m-Q4_0.gguf"),
            ("UD-Q4_K_XL", "m-UD-Q4_K_XL.gguf"),
            ("Q4_K_XL", "m-UD-Q4_K_XL.gguf"),
            ("m-q8_0.gguf", "m-Q8_0.gguf"),
            ("sub/other-Q4_1.gguf", "sub/other-Q4_1.gguf"),
            ("F16", "n/m has no F16: it has Q4_0, Q8_0, UD-Q4_K_XL, Q4_1"),
            ("mmproj-m-F16.gguf", "mmproj-m-F16.gguf"),
            ("safetensors", "n/m has neither model.safetensors nor model.safetensors.index.json"),
        ] {
            assert_eq!(chosen(&paths, Some(tag)), expect, "{tag}");
        }
    }

    /// What repositories contain, in the ways in which several publishers lay them out.
    #[test]
    fn repositories_as_they_are_published_mean_what_people_expect() {
        let folders = [
            ".gitattributes",
            "BF16/See-3B-BF16-00001-of-00002.gguf",
            "BF16/See-3B-BF16-00002-of-00002.gguf",
            "README.md",
            "See-3B-IQ4_NL.gguf",
            "See-3B-Q3_K_S.gguf",
            "See-3B-Q4_K_M.gguf",
            "See-3B-Q8_0.gguf",
            "See-3B-UD-IQ2_XXS.gguf",
            "See-3B-UD-Q4_K_XL.gguf",
            "config.json",
            "imatrix_see.gguf",
            "imatrix_see.dat",
            "leap/Q4_K_M.json",
            "mmproj-BF16.gguf",
            "mmproj-F16.gguf",
            "mmproj-F32.gguf",
        ];
        let named = [
            "owner_See-3B-it-Q4_0.gguf",
            "owner_See-3B-it-Q6_K_L.gguf",
            "owner_See-3B-it-bf16.gguf",
            "owner_See-3B-it-imatrix.gguf",
            "mmproj-owner_See-3B-it-f16.gguf",
            "mmproj-owner_See-3B-it-bf16.gguf",
        ];
        let dotted = [
            "See-3B.Q2_K.gguf",
            "See-3B.Q4_K_S.gguf",
            "See-3B.Q8_0.gguf.part1of2",
            "See-3B.Q8_0.gguf.part2of2",
            "See-3B.f16.gguf",
            "See-3B.i1-Q4_K_S.gguf.tmp",
            "See-3B.imatrix.gguf",
            "See-3B.mmproj-Q8_0.gguf",
        ];
        let both = "BF16/See-3B-BF16-00001-of-00002.gguf BF16/See-3B-BF16-00002-of-00002.gguf";
        for (paths, tag, expect) in [
            (&folders[..], None, "See-3B-Q4_K_M.gguf"),
            (&folders, Some("bf16"), both),
            (&folders, Some("Q4_K_XL"), "See-3B-UD-Q4_K_XL.gguf"),
            (&folders, Some("UD-IQ2_XXS"), "See-3B-UD-IQ2_XXS.gguf"),
            (&folders, Some("See-3B-Q8_0.gguf"), "See-3B-Q8_0.gguf"),
            (
                &folders,
                Some("F32"),
                "n/m has no F32: it has BF16, IQ4_NL, Q3_K_S, Q4_K_M, Q8_0, UD-IQ2_XXS, UD-Q4_K_XL",
            ),
            (&named, None, "owner_See-3B-it-Q4_0.gguf"),
            (&named, Some("q6_k_l"), "owner_See-3B-it-Q6_K_L.gguf"),
            (&named, Some("BF16"), "owner_See-3B-it-bf16.gguf"),
            (&dotted, None, "See-3B.Q4_K_S.gguf"),
            (&dotted, Some("Q8_0"), "n/m has no Q8_0: it has Q2_K, Q4_K_S, f16"),
        ] {
            assert_eq!(chosen(paths, tag), expect, "{tag:?}");
        }
    }

    #[test]
    fn helpers_are_not_models() {
        let helpers = [
            "mmproj-m-Q8_0.gguf",
            "m-mmproj-F16.gguf",
            "m-imatrix.gguf",
            "mtp-m-Q8_0.gguf",
            "m-eagle3-Q8_0.gguf",
            "vocoder-m.gguf",
            "tokenizer-m-Q8_0.gguf",
            "m-audio-decoder-Q8_0.gguf",
            "dflash-m.gguf",
            "m-dspark-Q8_0.gguf",
        ];
        for helper in helpers {
            assert_eq!(chosen(&[helper, "m-Q4_0.gguf"], None), "m-Q4_0.gguf", "{helper}");
        }
        assert_eq!(
            chosen(&["smtp-assistant-Q4_0.gguf"], None),
            "smtp-assistant-Q4_0.gguf",
            "only whole words name helpers"
        );
        assert!(chosen(&helpers, None).starts_with("n/m has neither"));
    }

    #[test]
    fn split_files_belong_together() {
        let parts = ["m-Q8_0-00002-of-00002.gguf", "m-Q8_0-00001-of-00002.gguf", "m-Q4_K_M-00001-of-00003.gguf"];
        let whole = "m-Q8_0-00001-of-00002.gguf m-Q8_0-00002-of-00002.gguf";
        assert_eq!(chosen(&parts, None), whole, "the preferred one is not complete");
        assert_eq!(chosen(&parts, Some(parts[0])), whole, "one part names all");
        assert_eq!(chosen(&parts, Some("Q4_K_M")), "n/m has no Q4_K_M: it has Q8_0");
    }

    #[test]
    fn several_equal_files_are_an_error() {
        let message = chosen(&["a-Q4_K_M.gguf", "b-Q4_K_M.gguf"], None);
        assert_eq!(message, "n/m must mean one model, found a-Q4_K_M.gguf, b-Q4_K_M.gguf: name one of them");
        assert!(chosen(&["a.gguf", "b.gguf"], None).contains("a.gguf, b.gguf"));
    }

    #[test]
    fn a_folder_has_exactly_what_loading_reads() {
        let paths = [
            "config.json",
            "tokenizer.json",
            "tokenizer.model",
            "model.safetensors",
            "pytorch_model.bin",
            "onnx/model.onnx",
            "modeling.py",
            "original/model.safetensors",
            "model.safetensors.index.json",
            "README.md",
        ];
        assert_eq!(chosen(&paths, None), "config.json tokenizer.json model.safetensors");
        let paths = ["config.json", "merges.txt", "vocab.json", "model.safetensors.index.json", "model-1.safetensors"];
        assert_eq!(chosen(&paths, None), "config.json vocab.json merges.txt model.safetensors.index.json");
        let paths = ["m-Q4_0.gguf", "config.json", "model.safetensors"];
        assert_eq!(chosen(&paths, Some("SafeTensors")), "config.json model.safetensors");
    }

    #[test]
    fn paths_that_lead_out_of_a_folder_are_never_chosen() {
        for path in ["../m-Q4_K_M.gguf", "C:\\m-Q4_K_M.gguf", "/m-Q4_K_M.gguf", "a/../m-Q4_K_M.gguf", "m-Q4_K_M\0.gguf"]
        {
            assert_eq!(chosen(&[path, "m-Q2_K.gguf"], None), "m-Q2_K.gguf", "{path:?}");
            assert!(choose_files("n/m", &listing(&[path]), Some(path)).is_err(), "{path:?}");
        }
    }
}
