//! The sizes in which a model expects pictures, from its processor's settings.

use serde_json::Value as Json;

use crate::checkpoint::config_object::Config;
use crate::checkpoint::invalid::invalid;
use crate::checkpoint::vision::gemma3;
use crate::error::{Result, SdkError};
use crate::media::{ImageSizing, ResizeFilter, TilingRules};
use crate::weights::{Folder, GgufFile};

/// Pixels of a tile's side and tiles at most: more than any model has.
const MAX_TILE: usize = 4096;
const MAX_TILES: usize = 256;
/// Rows of an image at most. Files of LFM3-VL allow four times as many; llama.cpp has the same limit.
const MAX_ROWS: usize = 4096;

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

/// The rules that a projector file states. The rest, such as tiles, is as usual.
pub(super) fn gguf_rules(file: &GgufFile, usual: &TilingRules) -> Result<TilingRules> {
    let count = |key: &str| file.count(&format!("clip.vision.{key}"));
    let patch = count("patch_size")?.ok_or_else(|| invalid("metadata clip.vision.patch_size is missing"))?;
    let merge = count("projector.scale_factor")?.or(count("spatial_merge_size")?).unwrap_or(usual.merge);
    let usual = &usual.with_unit(patch, merge);
    let filter = match file.text("clip.vision.image_resize_algo")? {
        None => usual.filter,
        Some("bilinear") => ResizeFilter::Bilinear,
        Some("bicubic") => ResizeFilter::Bicubic,
        Some(other) => {
            return Err(invalid(format!("image_resize_algo must be \"bilinear\" or \"bicubic\", found {other:?}")));
        }
    };
    let rules = TilingRules {
        min_pixels: count("image_min_pixels")?.unwrap_or(usual.min_pixels),
        max_pixels: count("image_max_pixels")?.unwrap_or(usual.max_pixels),
        filter,
        ..usual.clone()
    };
    Ok(limited(rules.with_square(count("image_size")?)))
}

/// The rules that a folder states: its description, the part on the tower, and the processor's settings.
pub(super) fn rules(
    (whole, vision, settings): (Config<'_>, Config<'_>, Config<'_>),
    usual: &TilingRules,
) -> Result<TilingRules> {
    let count = |keys: &[&str], usual: usize| Ok::<_, SdkError>(settings.count(keys)?.unwrap_or(usual));
    let (min_tiles, max_tiles) = (count(&["min_tiles"], usual.min_tiles)?, count(&["max_tiles"], usual.max_tiles)?);
    let patch = count(&["encoder_patch_size", "patch_size"], vision.count(&["patch_size"])?.unwrap_or(usual.patch))?;
    let merge = match usual.sizing {
        ImageSizing::Square => Some(gemma3::merge(whole, vision)?),
        _ => whole.count(&["downsample_factor"])?,
    };
    let merge = merge.or(vision.count(&["spatial_merge_size", "pooling_kernel_size"])?);
    let merge = merge.map_or_else(|| count(&["downsample_factor", "merge_size"], usual.merge), Ok)?;
    let usual = &usual.with_unit(patch, merge);
    let unit = patch.saturating_mul(merge);
    let edges = settings.object("size")?.unwrap_or(settings);
    let pixels = |tokens: &str, keys: [&str; 2], usual: usize| -> Result<usize> {
        match settings.count(&[tokens])? {
            Some(n_tokens) => Ok(n_tokens.saturating_mul(unit).saturating_mul(unit)),
            None => Ok(settings.count(&keys[..1])?.or(edges.count(&keys[1..])?).unwrap_or(usual)),
        }
    };
    let max_tokens = match usual.sizing {
        ImageSizing::Filled => "max_soft_tokens",
        ImageSizing::Nearest | ImageSizing::Square => "max_image_tokens",
    };
    let splits = settings.boolean(&["do_image_splitting"])?.unwrap_or(usual.splits);
    let rules = TilingRules {
        patch,
        merge,
        min_pixels: pixels("min_image_tokens", ["min_pixels", "shortest_edge"], usual.min_pixels)?,
        max_pixels: pixels(max_tokens, ["max_pixels", "longest_edge"], usual.max_pixels)?,
        sizing: usual.sizing,
        min_units: usual.min_units,
        filter: match settings.count(&["resample"])? {
            None => usual.filter,
            Some(2) => ResizeFilter::Bilinear,
            Some(3) => ResizeFilter::Bicubic,
            Some(other) => {
                return Err(invalid(format!("resample must be 2 (bilinear) or 3 (bicubic), found {other}")));
            }
        },
        tile: count(&["tile_size"], usual.tile)?,
        splits: splits && (min_tiles, max_tiles) != (1, 1),
        has_thumbnail: settings.boolean(&["use_thumbnail"])?.unwrap_or(usual.has_thumbnail),
        tolerance: settings.number(&["max_pixels_tolerance"])?.unwrap_or(usual.tolerance),
        min_tiles,
        max_tiles,
    };
    Ok(limited(rules.with_square(match edges.count(&["height"])? {
        Some(height) => Some(height),
        None => vision.count(&["image_size"])?,
    })))
}

/// The rules with the most rows that an image may have.
fn limited(rules: TilingRules) -> TilingRules {
    let most = MAX_ROWS.saturating_mul(rules.patch.saturating_mul(rules.merge).saturating_pow(2));
    TilingRules { max_pixels: rules.max_pixels.min(most), ..rules }
}

/// Checks rules before anything is computed from them.
pub(super) fn check(rules: &TilingRules) -> Result<()> {
    let TilingRules { patch, merge, min_pixels, max_pixels, tile, min_tiles, max_tiles, .. } = *rules;
    if !(1..=64).contains(&patch) || !(1..=8).contains(&merge) {
        return Err(invalid(format!("patches of {patch} pixels, merged by {merge}, are not supported")));
    }
    let row = rules.unit() * rules.unit();
    if rules.sizing == ImageSizing::Square && !max_pixels.isqrt().is_multiple_of(rules.unit()) {
        return Err(invalid(format!(
            "images must have sides of a multiple of {} pixels, found {}",
            rules.unit(),
            max_pixels.isqrt()
        )));
    }
    if min_pixels < row || max_pixels < min_pixels {
        return Err(invalid(format!(
            "an image must have between {row} and {} pixels, found {min_pixels} to {max_pixels}",
            MAX_ROWS * row
        )));
    }
    if rules.splits && (tile == 0 || MAX_TILE < tile || !tile.is_multiple_of(rules.unit())) {
        return Err(invalid(format!(
            "tile_size must be a multiple of {} up to {MAX_TILE}, found {tile}",
            rules.unit()
        )));
    }
    if min_tiles == 0 || max_tiles < min_tiles || MAX_TILES < max_tiles {
        return Err(invalid(format!(
            "a picture must have between 1 and {MAX_TILES} tiles, found {min_tiles} to {max_tiles}"
        )));
    }
    if !rules.tolerance.is_finite() || rules.tolerance <= 0.0 {
        return Err(invalid(format!("max_pixels_tolerance must be above 0, found {}", rules.tolerance)));
    }
    Ok(())
}
