//! Operations that mix all patches of an image or all rows of a recording. Their outputs are computed band by band.

use super::*;
use crate::model::hearing::{DepthwiseConvolution, RelativeQueries, UnfoldedGrid};
use crate::model::tower::PatchGridConvolution;

/// The operations that mix all patches of an image, of which each chunk of rows is computed alone.
pub(super) fn grid_cases<O: SoundOperations>(operations: &O, chunk: usize) -> Vec<(&'static str, Vec<f32>)> {
    const N_COLUMNS: usize = 8;
    let n_patches = 6 * N_COLUMNS;
    let scene = |patches: Range<usize>| [(0, patches)];
    let chunks = || (0..n_patches).step_by(chunk).map(|start| start..n_patches.min(start + chunk));
    let rows = |patches: Range<usize>, seed: usize, width: usize| {
        Scene { operations, parts: &scene(patches), memories: &mut [] }.rows(seed, width)
    };
    let all = [(0, 0..n_patches)];
    let whole = Scene { operations, parts: &all, memories: &mut [] };
    let (next, taps) = (whole.map(90, (8, WIDTH)), whole.vector(2, 9 * WIDTH));
    let (mut attended, mut convolved, mut joined) = (Vec::new(), Vec::new(), Vec::new());
    let mut past = operations.key_values(HEADS).unwrap();
    let (mut mixed, mut inputs) = (O::Rows::default(), O::Inputs::default());
    for patches in chunks() {
        let width = HEADS.n_keys * HEADS.head_dim;
        let (k, v) = (rows(patches.clone(), 2, width), rows(patches.clone(), 3, width));
        operations.append(SequencePart { rows: 0..patches.len(), memory: &mut past }, &k, &v).unwrap();
    }
    let projected = rows(0..n_patches, 1, 3 * WIDTH);
    for patches in chunks() {
        let queries = rows(patches.clone(), 1, WIDTH);
        operations.bidirectional_attention(&queries, &past, HEADS, 0.25, &mut mixed).unwrap();
        operations.read(&mixed, 0..patches.len(), &mut attended).unwrap();
        let grid = PatchGridConvolution { projected: &projected, n_columns: N_COLUMNS, taps: &taps, side: 3 };
        operations.convolve_grid(grid, patches.clone(), &next, &mut inputs).unwrap();
        operations.input_rows(&inputs, &mut mixed).unwrap();
        operations.read(&mixed, 0..patches.len(), &mut convolved).unwrap();
    }
    let mut mutual = Vec::new();
    let part = AttentionPart { rows: 0..n_patches, past: &past, is_two_way: true };
    let sight = Sight { window: Some(9), n_after: None, scale: 0.25 };
    operations.attention(&rows(0..n_patches, 1, WIDTH), &[part], HEADS, sight, &mut mixed).unwrap();
    operations.read(&mixed, 0..n_patches, &mut mutual).unwrap();
    let mut around = Vec::new();
    let part = AttentionPart { rows: 0..n_patches, past: &past, is_two_way: true };
    let sight = Sight { window: Some(5), n_after: Some(4), scale: 0.25 };
    operations.attention(&rows(0..n_patches, 1, WIDTH), &[part], HEADS, sight, &mut mixed).unwrap();
    operations.read(&mixed, 0..n_patches, &mut around).unwrap();
    let mut centred = Vec::new();
    let (line, bias) = (whole.vector(7, 3 * WIDTH), whole.vector(8, WIDTH));
    operations.convolve_centred(&projected, &line, Some(&bias), &[0..5, 5..n_patches], &next, &mut inputs).unwrap();
    operations.input_rows(&inputs, &mut mixed).unwrap();
    operations.read(&mixed, 0..n_patches, &mut centred).unwrap();
    operations.join_squares(&projected, N_COLUMNS, 2, &mut mixed).unwrap();
    operations.read(&mixed, 0..n_patches / 4, &mut joined).unwrap();
    vec![
        ("bidirectional_attention", attended),
        ("attention in both directions", mutual),
        ("attention in a window around each token", around),
        ("convolve_centred", centred),
        ("convolve_grid", convolved),
        ("join_squares", joined),
    ]
}

/// The operations that mix all rows of a recording, of which each chunk of rows is computed alone.
pub(super) fn sound_cases<O: SoundOperations>(operations: &O, chunk: usize) -> Vec<(&'static str, Vec<f32>)> {
    const N_COLUMNS: usize = 5;
    let chunks = |n: usize| (0..n).step_by(chunk).map(move |start| start..n.min(start + chunk));
    let rows = |rows: Range<usize>, seed: usize, width: usize| {
        Scene { operations, parts: &[(0, rows)], memories: &mut [] }.rows(seed, width)
    };
    let whole = Scene { operations, parts: &[(0, 0..N_ROWS)], memories: &mut [] };
    let (taps, bias) = (whole.vector(2, 9 * WIDTH), whole.vector(3, WIDTH));
    let (mut over_time, mut halved, mut joined) = (Vec::new(), Vec::new(), Vec::new());
    let (mut unfolded, mut attended, mut windowed) = (Vec::new(), Vec::new(), Vec::new());
    let mut out = O::Rows::default();
    let line = rows(0..N_ROWS, 1, WIDTH);
    for part in chunks(N_ROWS) {
        let (kernel, before) = ((9, 1), (4, 0));
        let bias = Some(&bias);
        let line = DepthwiseConvolution {
            grid: &line,
            first_row: 0,
            n_columns: 1,
            taps: &taps,
            bias,
            kernel,
            before,
            stride: 1,
        };
        operations.convolve_channels(line, part.clone(), &mut out).unwrap();
        operations.read(&out, 0..part.len(), &mut over_time).unwrap();
    }
    for part in chunks(N_ROWS.div_ceil(2)) {
        // Only the grid rows that the outputs need.
        let needed = (2 * part.start).saturating_sub(1)..N_ROWS.min(2 * part.end);
        let grid = rows(needed.start * N_COLUMNS..needed.end * N_COLUMNS, 1, WIDTH);
        let (kernel, before) = ((3, 3), (1, 1));
        let places =
            UnfoldedGrid { grid: &grid, first_row: needed.start, n_columns: N_COLUMNS, kernel, before, stride: (2, 2) };
        operations.unfold(places, part.clone(), &mut out).unwrap();
        operations.read(&out, 0..part.len() * N_COLUMNS.div_ceil(2), &mut unfolded).unwrap();
        let grid = DepthwiseConvolution {
            grid: &grid,
            first_row: needed.start,
            n_columns: N_COLUMNS,
            taps: &taps,
            bias: None,
            kernel,
            before,
            stride: 2,
        };
        operations.convolve_channels(grid, part.clone(), &mut out).unwrap();
        operations.read(&out, 0..part.len() * N_COLUMNS.div_ceil(2), &mut halved).unwrap();
        let mut to = O::Rows::default();
        operations.join_columns(&out, N_COLUMNS.div_ceil(2), &mut to).unwrap();
        operations.read(&to, 0..part.len(), &mut joined).unwrap();
    }
    let (keys, values) = (rows(0..N_ROWS, 2, WIDTH), rows(0..N_ROWS, 3, WIDTH));
    let biases = [whole.vector(5, WIDTH), whole.vector(6, WIDTH)];
    for (n_before, n_after, bound, found) in
        [(N_ROWS - 1, N_ROWS - 1, None, &mut attended), (11, 0, Some(0.5), &mut windowed)]
    {
        let distances = rows(0..n_before + 1 + n_after, 4, WIDTH);
        for part in chunks(N_ROWS) {
            let queries = rows(part.clone(), 1, WIDTH);
            let queries = RelativeQueries {
                queries: &queries,
                first: part.start,
                keys: &keys,
                values: &values,
                distances: &distances,
                n_before,
                n_after,
                biases: biases.each_ref(),
                scale: 0.25,
                bound,
            };
            operations.relative_attention(queries, 4, &mut out).unwrap();
            operations.read(&out, 0..part.len(), found).unwrap();
        }
    }
    vec![
        ("convolve_channels over time", over_time),
        ("convolve_channels over a grid", halved),
        ("unfold", unfolded),
        ("join_columns", joined),
        ("relative_attention", attended),
        ("relative_attention in a window, bounded", windowed),
    ]
}

#[test]
fn operations_over_patches_give_the_same_bits_in_bands_and_by_several_threads() {
    let (one, several) = (native(1), native(3));
    let of = |operations: &Native, chunk: usize| {
        grid_cases(operations, chunk).into_iter().map(|(name, values)| (name, bits(&values))).collect::<Vec<_>>()
    };
    let expect = of(&one, 48);
    for chunk in [48, 1, 7, 20] {
        assert!(of(&one, chunk) == expect && of(&several, chunk) == expect, "{chunk}");
    }
}

#[test]
fn operations_over_recordings_give_the_same_bits_in_bands_and_by_several_threads() {
    let (one, several) = (native(1), native(3));
    let of = |operations: &Native, chunk: usize| {
        sound_cases(operations, chunk).into_iter().map(|(name, values)| (name, bits(&values))).collect::<Vec<_>>()
    };
    let expect = of(&one, N_ROWS);
    for chunk in [N_ROWS, 1, 7, 20] {
        assert!(of(&one, chunk) == expect && of(&several, chunk) == expect, "{chunk}");
    }
}
