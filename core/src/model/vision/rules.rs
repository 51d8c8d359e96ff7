//! The sizes in which a model expects pictures, from its processor's settings.

use serde_json::Value as Json;

use crate::error::Result;
use crate::media::TilingRules;
use crate::model::config_object::Config;
use crate::model::invalid::invalid;
use crate::weights::Folder;

/// Pixels of a tile's side, tiles, and rows of an image at most: more than any model has.
const LARGEST_TILE: usize = 4096;
const MOST_TILES: usize = 256;
const MOST_ROWS: usize = 16_384;

/// The rules of LFM2-VL, for files that do not state them.
pub(super) fn default_rules() -> TilingRules {
    TilingRules {
        patch: 16,
        merge: 2,
        min_tokens: 64,
        max_tokens: 256,
        tile: 512,
        min_tiles: 2,
        max_tiles: 10,
        splits: true,
        has_thumbnail: true,
        tolerance: 2.0,
    }
}

/// The settings of the processor in a folder: a file of their own, or a part of a newer one.
pub(super) fn processor_settings(folder: &Folder) -> Result<Json> {
    let whole = folder.json("processor_config.json")?;
    if let Some(settings) =
        whole.as_ref().and_then(|whole| whole.get("image_processor")).filter(|part| part.is_object())
    {
        return Ok(settings.clone());
    }
    Ok(folder.json("preprocessor_config.json")?.unwrap_or_default())
}

/// The rules that a folder's settings state.
pub(super) fn rules(settings: Config<'_>) -> Result<TilingRules> {
    let usual = default_rules();
    let count = |key: &str, usual: usize| Ok::<_, crate::error::SdkError>(settings.count(&[key])?.unwrap_or(usual));
    let (min_tiles, max_tiles) = (count("min_tiles", usual.min_tiles)?, count("max_tiles", usual.max_tiles)?);
    Ok(TilingRules {
        patch: count("encoder_patch_size", usual.patch)?,
        merge: count("downsample_factor", usual.merge)?,
        min_tokens: count("min_image_tokens", usual.min_tokens)?,
        max_tokens: count("max_image_tokens", usual.max_tokens)?,
        tile: count("tile_size", usual.tile)?,
        splits: settings.boolean(&["do_image_splitting"])?.unwrap_or(usual.splits) && (min_tiles, max_tiles) != (1, 1),
        has_thumbnail: settings.boolean(&["use_thumbnail"])?.unwrap_or(usual.has_thumbnail),
        tolerance: settings.number(&["max_pixels_tolerance"])?.unwrap_or(usual.tolerance),
        min_tiles,
        max_tiles,
    })
}

/// Checks rules before anything is computed from them.
pub(super) fn check(rules: &TilingRules) -> Result<()> {
    let TilingRules { patch, merge, min_tokens, max_tokens, tile, min_tiles, max_tiles, .. } = *rules;
    if !(1..=64).contains(&patch) || !(1..=8).contains(&merge) {
        return Err(invalid(format!("patches of {patch} pixels, merged by {merge}, are not supported")));
    }
    if min_tokens == 0 || max_tokens < min_tokens || MOST_ROWS < max_tokens {
        return Err(invalid(format!(
            "an image must have between 1 and {MOST_ROWS} rows, found {min_tokens} to {max_tokens}"
        )));
    }
    if tile == 0 || LARGEST_TILE < tile || !tile.is_multiple_of(rules.unit()) {
        return Err(invalid(format!(
            "tile_size must be a multiple of {} up to {LARGEST_TILE}, found {tile}",
            rules.unit()
        )));
    }
    if min_tiles == 0 || max_tiles < min_tiles || MOST_TILES < max_tiles {
        return Err(invalid(format!(
            "a picture must have between 1 and {MOST_TILES} tiles, found {min_tiles} to {max_tiles}"
        )));
    }
    if !rules.tolerance.is_finite() || rules.tolerance <= 0.0 {
        return Err(invalid(format!("max_pixels_tolerance must be above 0, found {}", rules.tolerance)));
    }
    Ok(())
}
