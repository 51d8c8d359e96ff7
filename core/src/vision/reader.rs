//! Reads picture files for the prompts of one model.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::checkpoint::{ImageTokens, VisionArchitecture};
use crate::error::{ErrorKind, Result, SdkError};
use crate::media::{Picture, PictureTiling, TilingRules, Transparency, decode};
use crate::model::VisionTower;
use crate::position::{ContentDigest, Embedded, EmbeddedLayout, EmbeddingJob, EmbeddingSource};
use crate::projectors::VisionFiles;
use crate::prompt::{ImageInput, ImageReader, NO_IMAGES_IN_TEMPLATE, PromptRenderer, Segment};
use crate::rows::RowCache;
use crate::tokenizer::ControlTokens;

/// Pictures whose files are known to be whole.
const MAX_KNOWN: usize = 1024;

/// The reader of a loaded model.
struct PictureReader {
    tower: VisionTower,
    /// The tower's rules. With a vocabulary without marks for tiles, each picture is one image.
    rules: TilingRules,
    transparency: Transparency,
    /// Names the tower, and how it is shown pictures, in the digests of images.
    fingerprint: Vec<u8>,
    rows: RowCache,
    known: Mutex<HashMap<ContentDigest, PictureTiling>>,
    latest: LatestImages,
}

/// The images of the picture that was decoded last, until they are computed: most prompts have one new picture, which is then
/// decoded once.
type LatestImages = Arc<Mutex<Option<(ContentDigest, Vec<Picture>)>>>;

/// A picture of a prompt.
struct ShownPicture {
    file: Vec<u8>,
    digest: ContentDigest,
    tiling: PictureTiling,
    transparency: Transparency,
    tower: VisionTower,
    rows: RowCache,
    latest: LatestImages,
    /// The images that are not computed yet, after the first one was asked for.
    images: Mutex<Vec<Option<Picture>>>,
}

/// One image of a picture: a tile, or the whole.
struct ShownImage {
    picture: Arc<ShownPicture>,
    index: usize,
    digest: ContentDigest,
    n_rows: u32,
    layout: EmbeddedLayout,
}

/// Lets the prompts of a model contain images, or sets why they cannot; returns whether they can. `cache_bytes` limits the
/// rows that are kept for pictures that are shown again.
pub(crate) fn attach(
    files: &VisionFiles<'_>,
    tower: Option<VisionTower>,
    control: &ControlTokens,
    renderer: &mut PromptRenderer,
    transparency: Transparency,
    cache_bytes: usize,
) -> bool {
    // The rest is a model for text, whatever files lie beside it.
    if !renderer.prints_images() {
        if tower.is_some() {
            renderer.refuse_images(NO_IMAGES_IN_TEMPLATE);
        }
        return false;
    }
    let tower = match (tower, files) {
        (_, VisionFiles::Missing(reason)) => {
            renderer.refuse_images(reason);
            return false;
        }
        (None, _) => return false,
        (Some(tower), VisionFiles::Found(..)) => tower,
    };
    match marker(tower.architecture(), control) {
        Ok(marker) => {
            let tiles = tower.architecture().family.tokens.tiles.as_ref();
            let has_marks =
                tiles.is_some_and(|tiles| control.contains(tiles.thumbnail) && control.contains(&tiles.tile(1, 1)));
            let reader = PictureReader::new(tower, has_marks, transparency, cache_bytes);
            renderer.set_image_input(ImageInput::new(marker, Arc::new(reader)));
            true
        }
        Err(reason) => {
            renderer.refuse_images(&reason);
            false
        }
    }
}

/// Lets messages contain images that are shown as their markers only, if this is a vision model.
pub(crate) fn attach_markers(files: &VisionFiles<'_>, control: &ControlTokens, renderer: &mut PromptRenderer) {
    let refusal = match files {
        VisionFiles::Found(..) if !renderer.prints_images() => Some(NO_IMAGES_IN_TEMPLATE.to_owned()),
        // A model for text, whatever files lie beside it.
        VisionFiles::Missing(_) if !renderer.prints_images() => return,
        VisionFiles::Missing(reason) => Some(reason.clone()),
        VisionFiles::Found(_, architecture) => marker(architecture, control).err(),
    };
    match refusal {
        Some(reason) => renderer.refuse_images(&reason),
        None => renderer.show_image_markers(),
    }
}

/// The control token that stands for an image in prompts, or why there is none.
fn marker(architecture: &VisionArchitecture, control: &ControlTokens) -> Result<&'static str, String> {
    let ImageTokens { markers, around, .. } = &architecture.family.tokens;
    let marker = markers.iter().find(|marker| control.contains(marker));
    let around = around.iter().flat_map(|(start, end)| [start, end]);
    let missing = around.copied().find(|spelling| !control.contains(spelling));
    match (marker, missing) {
        (Some(marker), None) => Ok(marker),
        (_, missing) => Err(format!("the vocabulary has no control token {}", missing.unwrap_or(markers[0]))),
    }
}

impl PictureReader {
    fn new(tower: VisionTower, has_marks: bool, transparency: Transparency, cache_bytes: usize) -> Self {
        let mut fingerprint = tower.fingerprint();
        if transparency == Transparency::Ignored {
            fingerprint.push(1);
        }
        let mut rules = tower.architecture().rules.clone();
        rules.splits &= has_marks;
        Self {
            tower,
            rules,
            transparency,
            fingerprint,
            rows: RowCache::new(cache_bytes),
            known: Mutex::default(),
            latest: LatestImages::default(),
        }
    }

    /// How a picture is shown. A file that is seen for the first time is decoded, so that a damaged one changes no history.
    fn tiling(&self, file: &[u8], digest: ContentDigest) -> Result<PictureTiling> {
        let known = || self.known.lock();
        if let Some(tiling) = known().get(&digest) {
            return Ok(*tiling);
        }
        let picture = decode(file, self.transparency)?;
        let tiling = self.rules.tiling(picture.width, picture.height);
        *self.latest.lock() = Some((digest, tiling.images(&picture)));
        let mut known = known();
        if MAX_KNOWN <= known.len() {
            known.clear();
        }
        known.insert(digest, tiling);
        Ok(tiling)
    }
}

impl ImageReader for PictureReader {
    fn read(&self, file: &[u8]) -> Result<Vec<Segment>> {
        let digest = ContentDigest::from_parts(&[&self.fingerprint, file]);
        let tiling = self.tiling(file, digest)?;
        let picture = Arc::new(ShownPicture {
            file: file.to_vec(),
            digest,
            tiling,
            transparency: self.transparency,
            tower: self.tower.clone(),
            rows: self.rows.clone(),
            latest: Arc::clone(&self.latest),
            images: Mutex::default(),
        });
        let control = |spelling: &str| Segment::Control(spelling.to_owned());
        let ImageTokens { around, text_around, tiles, .. } = &self.tower.architecture().family.tokens;
        let text = (!text_around.is_empty()).then(|| Segment::Text((*text_around).to_owned()));
        let mut segments: Vec<Segment> = text.iter().cloned().collect();
        segments.extend(around.iter().map(|(start, _)| control(start)));
        for (index, size) in tiling.sizes().enumerate() {
            match (tiling.grid, tiles) {
                (Some(grid), Some(tiles)) if index < grid.n_tiles() => {
                    segments.push(Segment::Control(tiles.tile(index / grid.columns + 1, index % grid.columns + 1)));
                }
                (Some(_), Some(tiles)) => segments.push(control(tiles.thumbnail)),
                _ => {}
            }
            let (n_rows, grid) = (self.rules.n_rows(size), self.rules.grid_of(size));
            let VisionArchitecture { family, mutual, .. } = *self.tower.architecture();
            let layout = EmbeddedLayout { grid: family.counts_cells.then_some(grid), mutual };
            segments.push(Segment::Embedded(Embedded(Arc::new(ShownImage {
                picture: Arc::clone(&picture),
                index,
                digest: ContentDigest::from_parts(&[digest.to_string().as_bytes(), &index.to_le_bytes()]),
                n_rows: u32::try_from(n_rows).unwrap_or(u32::MAX), // the rules allow some thousand
                layout,
            }))));
        }
        segments.extend(around.map(|(_, end)| control(end)));
        segments.extend(text);
        Ok(segments)
    }
}

impl ShownPicture {
    /// Takes an image out of those that are not computed yet; decodes the file if it is not among them.
    fn take(&self, index: usize) -> Result<Picture> {
        let mut images = self.images.lock();
        if images.get(index).is_none_or(Option::is_none) {
            let decoded = match self.take_latest() {
                Some(decoded) => decoded,
                None => self.tiling.images(&decode(&self.file, self.transparency)?),
            };
            *images = decoded.into_iter().map(Some).collect();
        }
        let missing = || SdkError::new(ErrorKind::Internal, "a picture must have all its tiles");
        images.get_mut(index).and_then(Option::take).ok_or_else(missing)
    }

    /// The images that were made when the file was checked, unless another picture came after it.
    fn take_latest(&self) -> Option<Vec<Picture>> {
        let mut latest = self.latest.lock();
        latest.take_if(|(digest, _)| *digest == self.digest).map(|(_, images)| images)
    }
}

impl EmbeddingSource for ShownImage {
    fn digest(&self) -> ContentDigest {
        self.digest
    }

    fn n_rows(&self) -> u32 {
        self.n_rows
    }

    fn layout(&self) -> EmbeddedLayout {
        self.layout
    }

    fn begin(&self) -> Result<Box<dyn EmbeddingJob>> {
        let ShownPicture { rows, tower, .. } = &*self.picture;
        match rows.cached_job(self.digest) {
            Some(job) => Ok(job),
            None => Ok(rows.job(self.digest, tower.begin(self.picture.take(self.index)?))),
        }
    }
}
