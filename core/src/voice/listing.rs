//! Chooses the files of the parts that speak in a listing, of which no file is here.

use crate::checkpoint::{CodecCheckpoint, FrameCheckpoint};
use crate::error::Result;
use crate::names::{AUDIO_DECODER_WORDS, AUDIO_TOKENIZER_WORDS, ListedFile, has_word, ranked_parts};
use crate::projectors::HEAD_BYTES;
use crate::weights::{Weights, embedding_length};

/// The files of a listing that make a GGUF model speak: what writes frames, and what turns them into sound. They lie beside the
/// model's file, and have names of such files and headers that fit. `head` gets a number of bytes from the beginning of a file, or the
/// whole file if it has fewer. None unless there are both.
pub(crate) fn in_listing(
    model: &str,
    listing: &[ListedFile],
    mut head: impl FnMut(&str, usize) -> Result<Vec<u8>>,
) -> Result<Vec<String>> {
    let decoders = candidates(model, listing, &AUDIO_DECODER_WORDS);
    if decoders.is_empty() {
        return Ok(Vec::new());
    }
    let hidden = embedding_length(&head(model, HEAD_BYTES)?);
    let mut open = |file: &ListedFile| {
        let bytes = head(&file.path, HEAD_BYTES)?;
        Ok(Weights::of_head(bytes, usize::try_from(file.size).unwrap_or(usize::MAX)).ok())
    };
    for decoder in decoders {
        let Some(known) = open(decoder)? else { continue };
        let frames = FrameCheckpoint::read(&known).ok().flatten();
        if frames.is_none_or(|frames| hidden.is_some_and(|hidden| hidden != frames.sizes().hidden)) {
            continue;
        }
        let has_codec = |files: &[&Weights]| matches!(CodecCheckpoint::read(files), Ok(Some(_)));
        if has_codec(&[&known]) {
            return Ok(vec![decoder.path.clone()]);
        }
        for tokenizer in candidates(model, listing, &AUDIO_TOKENIZER_WORDS) {
            if open(tokenizer)?.is_some_and(|files| has_codec(&[&files, &known])) {
                return Ok(vec![decoder.path.clone(), tokenizer.path.clone()]);
            }
        }
    }
    Ok(Vec::new())
}

/// The files in the folder of a model whose names contain one of these words, those that seem to be the model's first.
fn candidates<'a>(model: &str, listing: &'a [ListedFile], words: &[&str]) -> Vec<&'a ListedFile> {
    let (folder, model) = model.rsplit_once('/').unwrap_or(("", model));
    let split = |file: &'a ListedFile| file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let beside = listing.iter().filter(|file| split(file).0 == folder && has_word(split(file).1, words));
    let names = beside.clone().map(|file| split(file).1.to_owned()).collect();
    let named = |name: String| beside.clone().find(|file| split(file).1 == name);
    ranked_parts(model, names).into_iter().filter_map(named).collect()
}
