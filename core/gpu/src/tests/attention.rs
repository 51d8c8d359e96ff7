use causerie_backend::{AttentionMask, AttentionStep, CacheShape, CacheType, Cpu, KeyValues};

use super::*;
use crate::{AttentionRow, CacheFormat, GpuKeyValues, KeyValueShape};

const HEADS: usize = 2;
const SHARING: usize = 3;
const SCALE: f32 = 0.17;

/// Attention of the last `n_rows` of `n_tokens` tokens, in steps.
fn check(recorder: &Recorder, (format, cache_type): (CacheFormat, CacheType), head_dim: usize, mask: AttentionMask) {
    let (n_tokens, n_rows) = (150, 7);
    let width = HEADS * head_dim;
    let (keys, tokens_values) = (values(1, n_tokens * width), values(2, n_tokens * width));
    // Scores that differ much, so that the largest changes from page to page.
    let queries: Vec<f32> = values(3, n_rows * SHARING * width).iter().map(|x| x * 2.0).collect();
    let mut past = GpuKeyValues::new(recorder, KeyValueShape { n_heads: HEADS, head_dim, format });
    let mut expect_past = KeyValues::new(CacheShape { n_heads: HEADS, head_dim, cache_type });
    expect_past.append(&keys, &tokens_values);
    let mut fork = None;
    for range in [0..1, 1..70, 70..100, 100..n_tokens] {
        let part = range.start * width..range.end * width;
        let [k, v] = [&keys, &tokens_values].map(|all| uploaded(recorder, &all[part.clone()], width));
        past.append(recorder, 0..range.len(), &k, &v).unwrap();
        // Another sequence goes on from here, in the middle of a page.
        if range.end == 100 {
            let mut other = past.clone();
            other.append(recorder, 0..range.len(), &v, &k).unwrap();
            fork = Some(other);
        }
    }
    assert_eq!(fork.map(|fork| fork.n_tokens()), Some(130));
    let (found, expect) = (past.to_floats(recorder).unwrap(), expect_past.to_floats());
    assert_same_bits("keys", &found.0, &expect.0);
    assert_same_bits("values", &found.1, &expect.1);

    let first = n_tokens - n_rows;
    let seen = |row: usize| match mask {
        AttentionMask::Causal { window } => (first + row + 1).saturating_sub(window)..first + row + 1,
        AttentionMask::TwoWay { window, n_after } => {
            (first + row + 1).saturating_sub(window)..(first + row + 1 + n_after).min(n_tokens)
        }
        AttentionMask::Bidirectional => 0..n_tokens,
    };
    let rows: Vec<_> = (0..n_rows).map(|row| AttentionRow { past: &past, seen: seen(row) }).collect();
    let mut mixed = GpuRows::default();
    let queries_on_gpu = uploaded(recorder, &queries, SHARING * width);
    recorder.attention(&queries_on_gpu, &rows, SCALE, &mut mixed).unwrap();
    let mut expect = vec![0.0; queries.len()];
    let step = AttentionStep { rows: 0..n_rows, past: &expect_past, mask };
    Cpu::new(1).attention(&queries, &[step], SCALE, &mut expect);
    assert_same_bits(&format!("{format:?}, heads of {head_dim}, {mask:?}"), &read(recorder, &mixed), &expect);
}

const FORMATS: [(CacheFormat, CacheType); 3] =
    [(CacheFormat::F32, CacheType::F32), (CacheFormat::F16, CacheType::F16), (CacheFormat::Q8_0, CacheType::Q8_0)];

#[test]
fn attention_has_the_cpus_bits() {
    let Some(recorder) = recorder() else { return };
    for format in FORMATS {
        for head_dim in [64, 80, 18] {
            check(&recorder, format, head_dim, AttentionMask::Causal { window: usize::MAX });
        }
        check(&recorder, format, 64, AttentionMask::Causal { window: 70 });
        check(&recorder, format, 32, AttentionMask::TwoWay { window: 90, n_after: 3 });
    }
}

#[test]
fn keys_beyond_the_range_of_a_format_have_the_cpus_bits() {
    let Some(recorder) = recorder() else { return };
    let head_dim = 32;
    let mut extreme = values(5, 3 * head_dim);
    extreme[..10].copy_from_slice(&[0.0, -0.0, 65504.0, 65519.0, 1e9, -1e9, 6e-8, 3e-8, 2.98e-8, -6.1e-5]);
    extreme[2 * head_dim..].fill(0.0);
    for (format, cache_type) in FORMATS {
        let mut past = GpuKeyValues::new(&recorder, KeyValueShape { n_heads: 1, head_dim, format });
        let mut expect = KeyValues::new(CacheShape { n_heads: 1, head_dim, cache_type });
        let rows = uploaded(&recorder, &extreme, head_dim);
        past.append(&recorder, 0..3, &rows, &rows).unwrap();
        expect.append(&extreme, &extreme);
        let (found, expect) = (past.to_floats(&recorder).unwrap(), expect.to_floats());
        assert_same_bits(&format!("{format:?}"), &found.0, &expect.0);
        assert_same_bits(&format!("{format:?}"), &found.1, &expect.1);
    }
}
