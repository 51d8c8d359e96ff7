//! Chooses the projector files of a model in a listing, of which no file is here.

use std::collections::BTreeMap;

use crate::checkpoint::{HearingArchitecture, VisionArchitecture};
use crate::error::Result;
use crate::names::{ListedFile, choose_projector, is_projector, without_type};
use crate::projectors::files::{ProjectorTarget, Unfit, fit};
use crate::projectors::part::ModelPart;
use crate::weights::{Weights, embedding_length};

/// Bytes from the beginning of a file that is elsewhere: more than the header of a projector has, and enough of a model's to
/// know the length of its embeddings.
pub(crate) const HEAD_BYTES: usize = 1 << 20;

/// The projector files of a model in a listing: the one with its vision part and the one with its audio part, which may be the same.
/// They lie beside the model's file, and have names of such files and headers that fit. `head` gets a number of bytes from the
/// beginning of a file, or the whole file if it has fewer. None if there is no projector that this library can use, or none that is
/// clearly the model's.
pub(crate) fn in_listing(
    model: &str,
    listing: &[ListedFile],
    head: impl FnMut(&str, usize) -> Result<Vec<u8>>,
) -> Result<Vec<String>> {
    let (folder, model_name) = model.rsplit_once('/').unwrap_or(("", model));
    let candidate = |file: &ListedFile| {
        let (own, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        (own == folder && is_projector(name)).then(|| (name.to_owned(), file.size))
    };
    let mut search = ProjectorSearch {
        folder,
        model_name,
        candidates: listing.iter().filter_map(candidate).collect(),
        hidden: None,
        opened: BTreeMap::new(),
        head,
    };
    if search.candidates.is_empty() {
        return Ok(Vec::new());
    }
    search.hidden = embedding_length(&(search.head)(model, HEAD_BYTES)?);
    let mut chosen: Vec<String> = search.part::<VisionArchitecture>()?.into_iter().collect();
    chosen.extend(search.part::<HearingArchitecture>()?.filter(|hearing| !chosen.contains(hearing)));
    Ok(chosen)
}

struct ProjectorSearch<'a, H> {
    folder: &'a str,
    model_name: &'a str,
    /// Names with the sizes of their files.
    candidates: BTreeMap<String, u64>,
    /// The length of the model's embeddings.
    hidden: Option<usize>,
    /// Headers that were asked for; `None` for files that are not GGUF files.
    opened: BTreeMap<String, Option<Weights>>,
    head: H,
}

impl<H: FnMut(&str, usize) -> Result<Vec<u8>>> ProjectorSearch<'_, H> {
    /// The path of the projector with a part, chosen as loading chooses among files on disk. Of files that differ in the types of
    /// their weights only, the header of one says what all of them are.
    fn part<P: ModelPart>(&mut self) -> Result<Option<String>> {
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for name in self.candidates.keys() {
            groups.entry(without_type(name)).or_default().push(name.clone());
        }
        let mut fitting = Vec::new();
        for mut group in groups.into_values() {
            while let Some(name) = choose_projector(self.model_name, &group).map(str::to_owned) {
                let decoder = ProjectorTarget { hidden: self.hidden, architecture: None };
                match self.opened(&name)?.map(|weights| fit::<P>(weights, decoder)) {
                    Some(Ok(_)) => {
                        fitting.push(name);
                        break;
                    }
                    // Without a part, or not a projector at all.
                    Some(Err(Unfit::Absent)) if self.has_other_part(&name) => break,
                    _ => group.retain(|other| *other != name),
                }
            }
        }
        Ok(choose_projector(self.model_name, &fitting).map(|name| self.path(name)))
    }

    /// Whether a file has a part of any kind.
    fn has_other_part(&self, name: &str) -> bool {
        let target = ProjectorTarget { hidden: None, architecture: None };
        let weights = self.opened.get(name).and_then(Option::as_ref);
        weights.is_some_and(|weights| {
            fit::<VisionArchitecture>(weights, target).is_ok() || fit::<HearingArchitecture>(weights, target).is_ok()
        })
    }

    fn path(&self, name: &str) -> String {
        if self.folder.is_empty() { name.to_owned() } else { format!("{}/{name}", self.folder) }
    }

    fn opened(&mut self, name: &str) -> Result<Option<&Weights>> {
        if !self.opened.contains_key(name) {
            let size = self.candidates.get(name).copied().unwrap_or_default();
            let path = self.path(name);
            let bytes = (self.head)(&path, HEAD_BYTES)?;
            let weights = Weights::of_head(bytes, usize::try_from(size).unwrap_or(usize::MAX));
            self.opened.insert(name.to_owned(), weights.ok());
        }
        Ok(self.opened.get(name).and_then(Option::as_ref))
    }
}
