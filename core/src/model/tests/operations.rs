//! Each operation gives a row the same bits, with one thread or several, alone, in chunks, or beside another sequence; and
//! the tensors of candle give the same values.

mod banded;

use std::ops::Range;
use std::sync::Arc;

use causerie_backend::Cpu;

use super::same_bits::{bits, decoder};
use super::*;
use crate::checkpoint::{Activation, QueryGrowth, Rope, RopePairing, RopeScaling, RopeSettings, RotaryPlaces};
use crate::model::feed_forward::FeedForward;
use crate::model::hearing::SoundOperations;
use crate::model::linear::Linear;
use crate::model::native::Native;
use crate::model::operations::{AttentionPart, DeltaRows, Operations, Residual, SequencePart, Sight};
use crate::model::tower::TowerActivation;

/// Tokens of a sequence: more than a band of the kernels, and not a multiple of it.
const N_ROWS: usize = 41;
const WIDTH: usize = 64;
const HEADS: Heads = Heads { n_queries: 4, n_keys: 2, head_dim: 16 };
const DELTA_HEADS: DeltaHeads = DeltaHeads { n_keys: 1, n_values: 2, key_dim: 32, value_dim: 32 };
const TAPS: usize = 3;
const EPSILON: f32 = 1e-5;

/// Values between -1 and 1 that are the same everywhere.
fn value(seed: usize, row: usize, column: usize) -> f32 {
    let mixed = (seed * 7919 + row * 104_729 + column * 1299 + row * column * 31) % 2003;
    mixed as f32 / 1001.0 - 1.0
}

/// An operation of a step: its rows belong to one or two sequences.
struct Scene<'a, O: SoundOperations> {
    operations: &'a O,
    /// The tokens of each sequence in this step, and the number of its seed.
    parts: &'a [(usize, Range<usize>)],
    memories: &'a mut [Memories<O>],
}

/// What an operation remembers of a sequence.
struct Memories<O: SoundOperations> {
    key_values: O::KeyValues,
    window: O::Window,
    delta_window: O::Window,
    delta_memory: O::DeltaMemory,
}

/// Runs an operation for a scene, and returns the rows that it computes.
type Case<O> = fn(&mut Scene<'_, O>) -> Result<<O as Operations>::Rows>;

impl<O: SoundOperations> Scene<'_, O> {
    fn n_rows(&self) -> usize {
        self.parts.iter().map(|(_, tokens)| tokens.len()).sum()
    }

    fn rows(&self, seed: usize, width: usize) -> O::Rows {
        let of_row: Vec<_> = self
            .parts
            .iter()
            .flat_map(|(sequence, tokens)| tokens.clone().map(move |token| (*sequence, token)))
            .collect();
        let mut rows = O::Rows::default();
        let write = |row: usize, to: &mut [f32]| {
            let (sequence, token) = of_row[row];
            to.iter_mut().enumerate().for_each(|(at, to)| *to = value(seed + 100 * sequence, token, at));
        };
        self.operations.upload((self.n_rows(), width), write, &mut rows).unwrap();
        rows
    }

    fn vector(&self, seed: usize, length: usize) -> O::Vector {
        self.operations.vector((0..length).map(|at| value(seed, 5, at)).collect()).unwrap()
    }

    fn map(&self, seed: usize, (n_rows, n_columns): (usize, usize)) -> Linear<O> {
        let values: Vec<f32> = (0..n_rows * n_columns).map(|at| value(seed, at / n_columns, at % n_columns)).collect();
        let weight = self.operations.matrix_of(&values, (n_rows, n_columns)).unwrap();
        Linear { weight, bias: Some(self.vector(seed + 1, n_rows)) }
    }

    fn inputs(&self, seed: usize, width: usize) -> O::Inputs {
        let mut inputs = O::Inputs::default();
        self.operations.inputs(&self.rows(seed, width), &[], &mut inputs).unwrap();
        inputs
    }

    /// Rows that an operation gives as inputs of a map.
    fn as_rows(&self, compute: impl FnOnce(&Linear<O>, &mut O::Inputs) -> Result<()>) -> Result<O::Rows> {
        let (next, mut inputs, mut rows) = (self.map(90, (8, WIDTH)), O::Inputs::default(), O::Rows::default());
        compute(&next, &mut inputs)?;
        self.operations.input_rows(&inputs, &mut rows)?;
        Ok(rows)
    }

    fn angles(&self) -> (Rope, O::Angles) {
        let query_growth = Some(QueryGrowth { beta: 0.1, original_context: 16 });
        let settings =
            RopeSettings { theta: 1e4, scaling: RopeScaling::None, n_rotated: Some(8), query_growth, sections: None };
        let rope = Rope::new(&settings, None, RopePairing::Neighbours, HEADS.head_dim).unwrap();
        let positions: Vec<_> = self.parts.iter().map(|(_, tokens)| RotaryPlaces::Line(tokens.clone())).collect();
        let mut angles = O::Angles::default();
        self.operations.angles(&rope, &positions, &mut angles).unwrap();
        (rope, angles)
    }

    /// The rows of each sequence, with a memory of it.
    fn steps<'m, T>(
        parts: &[(usize, Range<usize>)],
        memories: &'m mut [Memories<O>],
        memory: impl Fn(&'m mut Memories<O>) -> T,
    ) -> Vec<SequencePart<T>> {
        let mut end = 0;
        let of_part = |((_, tokens), memories): (&(usize, Range<usize>), &'m mut Memories<O>)| {
            let rows = end..end + tokens.len();
            end = rows.end;
            SequencePart { rows, memory: memory(memories) }
        };
        parts.iter().zip(memories).map(of_part).collect()
    }

    fn attention(&mut self, window: Option<usize>) -> Result<O::Rows> {
        let width = HEADS.n_keys * HEADS.head_dim;
        let (q, k, v) = (self.rows(1, WIDTH), self.rows(2, width), self.rows(3, width));
        let steps = Self::steps(self.parts, self.memories, |memories| &mut memories.key_values);
        let mut read = Vec::new();
        for SequencePart { rows, memory } in steps {
            self.operations.append(SequencePart { rows: rows.clone(), memory: &mut *memory }, &k, &v)?;
            read.push(AttentionPart { rows, past: &*memory, is_two_way: false });
        }
        let mut mixed = O::Rows::default();
        self.operations.attention(&q, &read, HEADS, Sight { window, n_after: None, scale: 0.25 }, &mut mixed)?;
        Ok(mixed)
    }
}

/// The operations whose rows depend on their own token, or on those before it.
fn cases<O: SoundOperations>() -> Vec<(&'static str, Case<O>)> {
    vec![
        ("embed", |scene| {
            let table = scene.map(4, (50, WIDTH)).weight;
            let tokens: Vec<Vec<u32>> = scene
                .parts
                .iter()
                .map(|(sequence, tokens)| tokens.clone().map(|token| (token + 7 * sequence) as u32 % 50).collect())
                .collect();
            let steps: Vec<_> = tokens.iter().map(|tokens| Inputs::Tokens(tokens)).collect();
            let mut out = O::Rows::default();
            scene.operations.embed(&table, &steps, 1.5, &mut out)?;
            Ok(out)
        }),
        ("inputs", |scene| {
            let rows = scene.rows(1, WIDTH);
            scene.as_rows(|next, inputs| scene.operations.inputs(&rows, &[next], inputs))
        }),
        ("norm", |scene| {
            let (rows, weight) = (scene.rows(1, WIDTH), scene.vector(2, WIDTH));
            scene.as_rows(|next, inputs| scene.operations.norm(&rows, (&weight, EPSILON), &[next], inputs))
        }),
        ("layer_norm", |scene| {
            let (rows, weight, bias) = (scene.rows(1, WIDTH), scene.vector(2, WIDTH), scene.vector(3, WIDTH));
            let norm = (&weight, EPSILON);
            scene.as_rows(|next, inputs| scene.operations.layer_norm(&rows, norm, &bias, &[next], inputs))
        }),
        ("product", |scene| {
            let (inputs, first, second) =
                (scene.inputs(1, WIDTH), scene.map(2, (48, WIDTH)), scene.map(4, (33, WIDTH)));
            let (mut out, mut other) = (O::Rows::default(), O::Rows::default());
            scene.operations.product(&inputs, [(&first, &mut other), (&second, &mut out)])?;
            Ok(out)
        }),
        ("add_product", |scene| {
            let (inputs, map, weight) = (scene.inputs(1, WIDTH), scene.map(2, (48, WIDTH)), scene.vector(4, 48));
            let (mut spare, mut stream) = (O::Rows::default(), scene.rows(5, 48));
            let plain = Residual { norm: None, factor: 1.0 };
            scene.operations.add_product(&inputs, &map, plain, &mut spare, &mut stream)?;
            let residual = Residual { norm: Some((&weight, EPSILON)), factor: 0.5 };
            scene.operations.add_product(&inputs, &map, residual, &mut spare, &mut stream)?;
            Ok(stream)
        }),
        ("rotate", |scene| {
            let (mut rows, weight, (rope, angles)) = (scene.rows(1, WIDTH), scene.vector(2, 16), scene.angles());
            scene.operations.rotate(&mut rows, 16, Some((&weight, EPSILON)), Some((&rope, &angles)))?;
            Ok(rows)
        }),
        ("grow_queries", |scene| {
            let (mut rows, (_, angles)) = (scene.rows(1, WIDTH), scene.angles());
            scene.operations.grow_queries(&mut rows, &angles)?;
            Ok(rows)
        }),
        ("split_heads", |scene| {
            let (mut queries, mut gates) = (O::Rows::default(), O::Rows::default());
            scene.operations.split_heads(&scene.rows(1, 2 * WIDTH), 16, &mut queries, &mut gates)?;
            Ok(gates)
        }),
        ("sigmoid", |scene| {
            let mut rows = scene.rows(1, WIDTH);
            scene.operations.sigmoid(&mut rows)?;
            Ok(rows)
        }),
        ("attention", |scene| scene.attention(None)),
        ("attention in a window", |scene| scene.attention(Some(9))),
        ("gate_heads", |scene| {
            let (rows, gates) = (scene.rows(1, WIDTH), scene.rows(2, HEADS.n_queries));
            scene.as_rows(|next, inputs| scene.operations.gate_heads(&rows, &gates, next, inputs))
        }),
        ("gate by SiLU", |scene| {
            let (gate, up) = (scene.rows(1, WIDTH), scene.rows(2, WIDTH));
            scene.as_rows(|next, inputs| scene.operations.gate(Activation::Silu, &gate, &up, &[next], inputs))
        }),
        ("gate by GELU", |scene| {
            let (gate, up) = (scene.rows(1, WIDTH), scene.rows(2, WIDTH));
            scene.as_rows(|next, inputs| scene.operations.gate(Activation::GeluTanh, &gate, &up, &[next], inputs))
        }),
        ("activate by GELU", |scene| {
            let rows = scene.rows(1, WIDTH);
            scene.as_rows(|next, inputs| scene.operations.activate(TowerActivation::Gelu, &rows, next, inputs))
        }),
        ("activate by the approximation of GELU", |scene| {
            let rows = scene.rows(1, WIDTH);
            scene.as_rows(|next, inputs| scene.operations.activate(TowerActivation::GeluTanh, &rows, next, inputs))
        }),
        ("activate by SiLU", |scene| {
            let rows = scene.rows(1, WIDTH);
            scene.as_rows(|next, inputs| scene.operations.activate(TowerActivation::Silu, &rows, next, inputs))
        }),
        ("activate_rows", |scene| {
            let mut activated = O::Rows::default();
            scene.operations.activate_rows(TowerActivation::Silu, &scene.rows(1, WIDTH), &mut activated)?;
            Ok(activated)
        }),
        ("clamp", |scene| {
            let mut clamped = O::Rows::default();
            scene.operations.clamp(&scene.rows(1, WIDTH), (-0.3, 0.2), &mut clamped)?;
            Ok(clamped)
        }),
        ("scale_columns", |scene| {
            let (mut rows, factors, shifts) = (scene.rows(1, WIDTH), scene.vector(2, WIDTH), scene.vector(3, WIDTH));
            scene.operations.scale_columns(&mut rows, &factors, Some(&shifts))?;
            scene.operations.scale_columns(&mut rows, &factors, None)?;
            Ok(rows)
        }),
        ("add_outputs", |scene| {
            let (rows, mut stream, weight) = (scene.rows(1, WIDTH), scene.rows(2, WIDTH), scene.vector(3, WIDTH));
            scene.operations.add_outputs(&rows, Residual { norm: None, factor: 0.5 }, &mut stream)?;
            let residual = Residual { norm: Some((&weight, EPSILON)), factor: 1.0 };
            scene.operations.add_outputs(&rows, residual, &mut stream)?;
            Ok(stream)
        }),
        ("rectify", |scene| {
            let mut rows = scene.rows(1, WIDTH);
            scene.operations.rectify(&mut rows)?;
            Ok(rows)
        }),
        ("gate_halves", |scene| {
            let mut gated = O::Rows::default();
            scene.operations.gate_halves(&scene.rows(1, 2 * WIDTH), &mut gated)?;
            Ok(gated)
        }),
        ("join_columns", |scene| {
            // Each row alone, as a grid of one column.
            let mut joined = O::Rows::default();
            scene.operations.join_columns(&scene.rows(1, WIDTH), 1, &mut joined)?;
            Ok(joined)
        }),
        ("convolve", |scene| {
            let (projected, taps) = (scene.rows(1, 3 * WIDTH), scene.vector(2, TAPS * WIDTH));
            let (next, bias) = (scene.map(90, (8, WIDTH)), scene.vector(3, WIDTH));
            let mut steps = Scene::steps(scene.parts, scene.memories, |memories| &mut memories.window);
            let (mut inputs, mut rows) = (O::Inputs::default(), O::Rows::default());
            scene.operations.convolve(&projected, &taps, Some(&bias), &mut steps, &next, &mut inputs)?;
            scene.operations.input_rows(&inputs, &mut rows)?;
            Ok(rows)
        }),
        ("delta_inputs", |scene| {
            let n_channels = DELTA_HEADS.n_channels();
            let (projected, taps) = (scene.rows(1, n_channels), scene.vector(2, TAPS * n_channels));
            let mut steps = Scene::steps(scene.parts, scene.memories, |memories| &mut memories.delta_window);
            let mut tokens = O::Rows::default();
            scene.operations.delta_inputs(&projected, DELTA_HEADS, &taps, &mut steps, &mut tokens)?;
            Ok(tokens)
        }),
        ("decays", |scene| {
            let (mut rows, log_decays, bias) = (scene.rows(1, WIDTH), scene.vector(2, WIDTH), scene.vector(3, WIDTH));
            scene.operations.decays(&mut rows, &log_decays, &bias)?;
            Ok(rows)
        }),
        ("delta_net", |scene| {
            // Between 0 and 1, as all decays and rates are.
            let (mut decays, mut rates) = (scene.rows(2, DELTA_HEADS.n_values), scene.rows(3, DELTA_HEADS.n_values));
            scene.operations.sigmoid(&mut decays)?;
            scene.operations.sigmoid(&mut rates)?;
            let mut tokens = scene.rows(1, DELTA_HEADS.n_channels());
            scene.operations.scale(&mut tokens, 0.2)?;
            let rows = DeltaRows { tokens: &tokens, decays: &decays, rates: &rates };
            let mut steps = Scene::steps(scene.parts, scene.memories, |memories| &mut memories.delta_memory);
            let mut out = O::Rows::default();
            scene.operations.delta_net(rows, &mut steps, &mut out)?;
            Ok(out)
        }),
        ("gated_norm", |scene| {
            let (rows, gate, weight) = (scene.rows(1, WIDTH), scene.rows(2, WIDTH), scene.vector(3, 32));
            scene.as_rows(|next, inputs| scene.operations.gated_norm(&rows, &gate, (&weight, EPSILON), next, inputs))
        }),
        ("columns", |scene| {
            let mut to = O::Rows::default();
            scene.operations.columns(&scene.rows(1, WIDTH), 5..40, &mut to)?;
            Ok(to)
        }),
        ("select", |scene| {
            let (mut to, middle) = (O::Rows::default(), scene.n_rows() / 2);
            scene.operations.select(&scene.rows(1, WIDTH), &[0..middle, middle..scene.n_rows()], &mut to)?;
            Ok(to)
        }),
        ("scale", |scene| {
            let mut rows = scene.rows(1, WIDTH);
            scene.operations.scale(&mut rows, 0.3)?;
            Ok(rows)
        }),
        ("bound", |scene| {
            let mut rows = scene.rows(1, WIDTH);
            scene.operations.bound(&mut rows, 0.5)?;
            Ok(rows)
        }),
        ("rotate_halves", |scene| {
            let (mut rows, weight) = (scene.rows(1, WIDTH), scene.vector(2, 16));
            let tokens: Vec<_> = scene.parts.iter().flat_map(|(_, tokens)| tokens.clone()).collect();
            let of_token = |token: usize| (0..8).map(move |pair| (token * (pair + 1)) as f32 * 0.1);
            let (cosines, sines) = tokens.into_iter().flat_map(of_token).map(|x| (x.cos(), x.sin())).unzip();
            let mut angles = O::Angles::default();
            scene.operations.upload_angles(cosines, sines, 8, &mut angles)?;
            scene.operations.rotate_halves(&mut rows, 16, Some((&weight, EPSILON)), Some(&angles))?;
            Ok(rows)
        }),
        ("rotate_parts", |scene| {
            let mut rows = scene.rows(1, WIDTH);
            let tokens: Vec<_> = scene.parts.iter().flat_map(|(_, tokens)| tokens.clone()).collect();
            let parts = tokens.into_iter().flat_map(|token| (0..WIDTH / 8).map(move |part| token + 3 * part));
            let of_part = |place: usize| (0..4).map(move |pair| (place * (pair + 1)) as f32 * 0.1);
            let (cosines, sines) = parts.flat_map(of_part).map(|x| (x.cos(), x.sin())).unzip();
            let mut angles = O::Angles::default();
            scene.operations.upload_angles(cosines, sines, 4, &mut angles)?;
            scene.operations.rotate_parts(&mut rows, 8, &angles)?;
            Ok(rows)
        }),
        ("extend", |scene| {
            let (mut all, n) = (scene.rows(1, WIDTH), scene.n_rows());
            scene.operations.extend(&scene.rows(2, WIDTH), n, &mut all)?;
            let mut to = O::Rows::default();
            scene.operations.select(&all, std::slice::from_ref(&(n..2 * n)), &mut to)?;
            Ok(to)
        }),
    ]
}

fn memories<O: SoundOperations>(operations: &O) -> Memories<O> {
    Memories {
        key_values: operations.key_values(HEADS).unwrap(),
        window: operations.window(TAPS, WIDTH).unwrap(),
        delta_window: operations.window(TAPS, DELTA_HEADS.n_channels()).unwrap(),
        delta_memory: operations.delta_memory(DELTA_HEADS).unwrap(),
    }
}

/// The values of the first of some sequences, whose tokens are computed in chunks.
fn values<O: SoundOperations>(operations: &O, case: Case<O>, chunk: usize, n_sequences: usize) -> Vec<f32> {
    let mut memories: Vec<_> = (0..n_sequences).map(|_| memories(operations)).collect();
    let mut found = Vec::new();
    for start in (0..N_ROWS).step_by(chunk) {
        let tokens = start..N_ROWS.min(start + chunk);
        let parts: Vec<_> = (0..n_sequences).map(|sequence| (sequence, tokens.clone())).collect();
        let mut scene = Scene { operations, parts: &parts, memories: &mut memories };
        let rows = case(&mut scene).unwrap();
        operations.read(&rows, 0..tokens.len(), &mut found).unwrap();
    }
    found
}

fn native(n_threads: usize) -> Native {
    Native::new(Arc::new(Cpu::new(n_threads)), CacheType::F32)
}

#[test]
fn operations_give_the_same_bits_in_chunks_beside_others_and_by_several_threads() {
    let (one, several) = (native(1), native(3));
    for (name, case) in cases::<Native>() {
        let expect = bits(&values(&one, case, N_ROWS, 1));
        assert!(!expect.is_empty() && expect.iter().any(|bits| *bits != expect[0]), "{name}");
        for (chunk, n_sequences) in [(N_ROWS, 1), (1, 1), (7, 1), (17, 2), (N_ROWS, 3)] {
            assert_eq!(bits(&values(&one, case, chunk, n_sequences)), expect, "{name}: {chunk}, {n_sequences}");
            assert_eq!(bits(&values(&several, case, chunk, n_sequences)), expect, "{name}: {chunk}, {n_sequences}");
        }
    }
}

/// Experts of a file, and a table of per-layer vectors that stays in its file.
fn file_cases<O: SoundOperations>(operations: impl Fn() -> O, chunk: usize) -> [Vec<f32>; 2] {
    let mixture = decoder("lfm2moe-f32.gguf", operations());
    let experts = mixture.stack.layers.iter().find_map(|layer| match &layer.feed_forward {
        FeedForward::Experts(experts) => Some(experts),
        FeedForward::Dense(_) => None,
    });
    let gemma = decoder("gemma4-f32.gguf", operations());
    let embedding = gemma.per_layer.as_ref().unwrap();
    let n_values = embedding.width * gemma.stack.layers.len();
    let mut found = [Vec::new(), Vec::new()];
    let mut scratch = O::Scratch::default();
    for start in (0..N_ROWS).step_by(chunk) {
        let parts = [(0, start..N_ROWS.min(start + chunk))];
        let n = parts[0].1.len();
        let scene = Scene { operations: &mixture.backend, parts: &parts, memories: &mut [] };
        let (inputs, mut stream) = (scene.inputs(1, mixture.hidden), scene.rows(2, mixture.hidden));
        scene.operations.experts(experts.unwrap(), &inputs, &mut scratch, &mut stream).unwrap();
        scene.operations.read(&stream, 0..n, &mut found[0]).unwrap();
        let mut rows = scene.rows(3, n_values);
        let tokens = parts[0].1.clone().map(|token| token as u32);
        gemma.backend.mix_table_rows(&embedding.table, tokens, 2.0, &mut scratch, &mut rows).unwrap();
        gemma.backend.read(&rows, 0..n, &mut found[1]).unwrap();
    }
    found
}

#[test]
fn experts_and_tables_give_the_same_bits_in_chunks_and_by_several_threads() {
    let expect = file_cases(|| native(1), N_ROWS).map(|values| bits(&values));
    for (n_threads, chunk) in [(3, N_ROWS), (1, 1), (3, 7), (1, 17)] {
        let found = file_cases(|| native(n_threads), chunk).map(|values| bits(&values));
        assert!(found == expect, "{n_threads} threads, chunks of {chunk}");
    }
}

#[cfg(feature = "candle")]
mod candle {
    use candle_core::Device;

    use super::banded::{grid_cases, sound_cases};
    use super::*;
    use crate::model::candle::Candle;

    /// The same arithmetic in another order. Values are of the order of 10, and sums have some hundred terms.
    const TOLERANCE: f32 = 1e-4;

    #[track_caller]
    fn check(name: &str, ours: &[f32], theirs: &[f32]) {
        assert_eq!(ours.len(), theirs.len(), "{name}");
        let difference = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(difference <= TOLERANCE, "{name}: {difference}");
    }

    fn tensors() -> Candle {
        Candle { device: Device::Cpu }
    }

    #[test]
    fn tensors_give_the_values_of_the_kernels() {
        for ((name, case), (_, other)) in cases::<Native>().into_iter().zip(cases::<Candle>()) {
            for (chunk, n_sequences) in [(N_ROWS, 1), (17, 2)] {
                let ours = values(&native(2), case, chunk, n_sequences);
                check(name, &ours, &values(&tensors(), other, chunk, n_sequences));
            }
        }
        for ((name, ours), (_, theirs)) in grid_cases(&native(2), 48).into_iter().zip(grid_cases(&tensors(), 20)) {
            check(name, &ours, &theirs);
        }
        for ((name, ours), (_, theirs)) in sound_cases(&native(2), N_ROWS).into_iter().zip(sound_cases(&tensors(), 20))
        {
            check(name, &ours, &theirs);
        }
        let (ours, theirs) = (file_cases(|| native(2), N_ROWS), file_cases(tensors, 17));
        ["experts", "mix_table_rows"].iter().zip(ours.iter().zip(&theirs)).for_each(|(name, (ours, theirs))| {
            check(name, ours, theirs);
        });
    }
}
