//! Keys and values of one layer and sequence, in pages.
//!
//! A clone shares all pages, so a snapshot costs next to nothing. Whoever goes on from a shared page that is not full
//! copies that one page. Pages never move, and attention reads them where they are.

use std::sync::Arc;

use half::f16;

use crate::simd::{LANES, Simd, round};

/// Tokens of a page: attention sums up page by page, at fixed places, so that a result does not depend on how many
/// tokens came at once.
pub(crate) const PAGE: usize = 64;

/// What keys and values are kept as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheType {
    /// Half the memory and traffic of F32; what other engines take too.
    #[default]
    F16,
    /// For comparing with references to the last digits.
    F32,
    /// Bytes with a scale for each 32 of a head: little more than half of F16, for long contexts. Coarser: how much a
    /// model loses by it is for its user to measure.
    Q8_0,
}

/// Numbers of a head that share a scale, where they are bytes.
pub(crate) const GROUP: usize = 32;

/// The heads of a layer's keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheShape {
    /// Key heads, as many as value heads.
    pub n_heads: usize,
    /// Numbers of a head.
    pub head_dim: usize,
    /// What they are kept as.
    pub cache_type: CacheType,
}

/// Keys and values of one layer and sequence.
#[derive(Clone)]
pub struct KeyValues {
    shape: CacheShape,
    pages: Vec<Arc<Page>>,
    n_tokens: usize,
}

#[derive(Clone)]
pub(crate) enum Page {
    F16(Numbers<u16>),
    F32(Numbers<f32>),
    Q8_0(Numbers<i8>),
}

/// Keys as `(heads, PAGE / 16, head_dim, 16)`, sixteen tokens side by side; values as `(heads, PAGE, padded head_dim)`.
/// Scales, where there are any, lie likewise, with a group of a head in place of each of its numbers.
#[derive(Clone)]
pub(crate) struct Numbers<T> {
    pub(crate) keys: Vec<T>,
    pub(crate) values: Vec<T>,
    pub(crate) key_scales: Vec<f32>,
    pub(crate) value_scales: Vec<f32>,
}

/// A number as it is kept.
pub(crate) trait Kept: Copy + Default {
    /// Whether it stands for itself times the scale of its group.
    const HAS_SCALE: bool = false;
    /// The scale of a group.
    fn scale_of(group: impl Iterator<Item = f32>) -> f32 {
        let _ = group;
        1.0
    }
    fn from_f32(x: f32, scale: f32) -> Self;
    fn to_f32(self, scale: f32) -> f32;
    /// Without the scale.
    fn load<S: Simd>(simd: S, from: &[Self; LANES]) -> S::Floats;
    /// The page's numbers, if they are of this type.
    fn of(page: &Page) -> Option<&Numbers<Self>>;
}

impl Kept for u16 {
    #[inline(always)]
    fn from_f32(x: f32, _: f32) -> Self {
        // The largest f16 in place of infinity, which no weight of 0 hides from a query that must not see it.
        f16::from_f32(x.clamp(f16::MIN.to_f32(), f16::MAX.to_f32())).to_bits()
    }

    #[inline(always)]
    fn to_f32(self, _: f32) -> f32 {
        f16::from_bits(self).to_f32()
    }

    #[inline(always)]
    fn load<S: Simd>(simd: S, from: &[Self; LANES]) -> S::Floats {
        simd.load_f16(from)
    }

    #[inline(always)]
    fn of(page: &Page) -> Option<&Numbers<Self>> {
        match page {
            Page::F16(numbers) => Some(numbers),
            _ => None,
        }
    }
}

impl Kept for f32 {
    #[inline(always)]
    fn from_f32(x: f32, _: f32) -> Self {
        x
    }

    #[inline(always)]
    fn to_f32(self, _: f32) -> f32 {
        self
    }

    #[inline(always)]
    fn load<S: Simd>(simd: S, from: &[Self; LANES]) -> S::Floats {
        simd.load(from)
    }

    #[inline(always)]
    fn of(page: &Page) -> Option<&Numbers<Self>> {
        match page {
            Page::F32(numbers) => Some(numbers),
            _ => None,
        }
    }
}

impl Kept for i8 {
    const HAS_SCALE: bool = true;

    /// So that the largest magnitude becomes 127. Of 17 bits, so that its products with seven more are exact: what is read
    /// back and kept again stays the same.
    #[inline(always)]
    fn scale_of(group: impl Iterator<Item = f32>) -> f32 {
        const SPARE: u32 = (1 << (f32::MANTISSA_DIGITS - 17)) - 1;
        let largest = group.fold(0.0, |largest: f32, x| largest.max(x.abs())).min(LARGEST);
        f32::from_bits(((largest / 127.0).to_bits() + SPARE.div_ceil(2)) & !SPARE)
    }

    #[inline(always)]
    fn from_f32(x: f32, scale: f32) -> Self {
        round(x.clamp(-LARGEST, LARGEST) / scale) as i8 // 0 for 0 / 0
    }

    #[inline(always)]
    fn to_f32(self, scale: f32) -> f32 {
        f32::from(self) * scale
    }

    #[inline(always)]
    fn load<S: Simd>(simd: S, from: &[Self; LANES]) -> S::Floats {
        simd.load_i8(from)
    }

    #[inline(always)]
    fn of(page: &Page) -> Option<&Numbers<Self>> {
        match page {
            Page::Q8_0(numbers) => Some(numbers),
            _ => None,
        }
    }
}

/// In place of larger magnitudes, infinity among them.
const LARGEST: f32 = 1e30;

impl CacheShape {
    /// Numbers of a value head, up to a full vector.
    pub(crate) fn padded_dim(self) -> usize {
        self.head_dim.next_multiple_of(LANES)
    }

    fn page(self) -> Page {
        match self.cache_type {
            CacheType::F16 => Page::F16(Numbers::new(self)),
            CacheType::F32 => Page::F32(Numbers::new(self)),
            CacheType::Q8_0 => Page::Q8_0(Numbers::new(self)),
        }
    }

    /// Groups of a head.
    pub(crate) fn n_groups(self) -> usize {
        self.head_dim.div_ceil(GROUP)
    }

    /// Bytes of a page.
    pub fn page_bytes(self) -> usize {
        let n_numbers = self.head_dim + self.padded_dim();
        let token_bytes = match self.cache_type {
            CacheType::F16 => n_numbers * size_of::<u16>(),
            CacheType::F32 => n_numbers * size_of::<f32>(),
            CacheType::Q8_0 => n_numbers + 2 * self.n_groups() * size_of::<f32>(),
        };
        self.n_heads * PAGE * token_bytes
    }

    /// Tokens of a page.
    pub fn page_tokens(self) -> usize {
        PAGE
    }
}

impl<T: Kept> Numbers<T> {
    fn new(shape: CacheShape) -> Self {
        let n_rows = shape.n_heads * PAGE;
        let n_scales = if T::HAS_SCALE { n_rows * shape.n_groups() } else { 0 };
        Self {
            keys: vec![T::default(); n_rows * shape.head_dim],
            values: vec![T::default(); n_rows * shape.padded_dim()],
            key_scales: vec![0.0; n_scales],
            value_scales: vec![0.0; n_scales],
        }
    }

    fn put(&mut self, shape: CacheShape, token: usize, keys: &[f32], values: &[f32]) {
        let CacheShape { n_heads, head_dim, .. } = shape;
        for head in 0..n_heads {
            let numbers = head * head_dim..(head + 1) * head_dim;
            for (at, group) in keys[numbers.clone()].chunks(GROUP).enumerate() {
                let scale = T::scale_of(group.iter().copied());
                if T::HAS_SCALE {
                    self.key_scales[key_place(shape.n_groups(), token, head, at)] = scale;
                }
                let to = self.keys[key_place(head_dim, token, head, at * GROUP)..].iter_mut().step_by(LANES);
                to.zip(group).for_each(|(to, key)| *to = T::from_f32(*key, scale));
            }
            for (at, group) in values[numbers].chunks(GROUP).enumerate() {
                let scale = T::scale_of(group.iter().copied());
                if T::HAS_SCALE {
                    self.value_scales[value_place(shape.n_groups(), token, head, at)] = scale;
                }
                let to = self.values[value_place(shape.padded_dim(), token, head, at * GROUP)..].iter_mut();
                to.zip(group).for_each(|(to, value)| *to = T::from_f32(*value, scale));
            }
        }
    }

    fn get(&self, shape: CacheShape, token: usize, head: usize, at: usize) -> (f32, f32) {
        let (mut key_scale, mut value_scale) = (1.0, 1.0);
        if T::HAS_SCALE {
            key_scale = self.key_scales[key_place(shape.n_groups(), token, head, at / GROUP)];
            value_scale = self.value_scales[value_place(shape.n_groups(), token, head, at / GROUP)];
        }
        let key = self.keys[key_place(shape.head_dim, token, head, at)].to_f32(key_scale);
        (key, self.values[value_place(shape.padded_dim(), token, head, at)].to_f32(value_scale))
    }
}

/// Where a number of a key lies among those of a page, `(heads, PAGE / 16, width, 16)`.
#[inline(always)]
fn key_place(width: usize, token: usize, head: usize, at: usize) -> usize {
    ((head * PAGE / LANES + token / LANES) * width + at) * LANES + token % LANES
}

/// Where a number of a value lies among those of a page, `(heads, PAGE, width)`.
#[inline(always)]
fn value_place(width: usize, token: usize, head: usize, at: usize) -> usize {
    (head * PAGE + token) * width + at
}

impl KeyValues {
    /// Those of a sequence without tokens.
    pub fn new(shape: CacheShape) -> Self {
        Self { shape, pages: Vec::new(), n_tokens: 0 }
    }

    /// The heads of all pages.
    pub fn shape(&self) -> CacheShape {
        self.shape
    }

    /// Tokens so far.
    pub fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    /// Those of the first tokens; `None` when there are not so many.
    pub fn cut(&self, n_tokens: usize) -> Option<Self> {
        let pages = self.pages.get(..n_tokens.div_ceil(PAGE))?.to_vec();
        (n_tokens <= self.n_tokens).then_some(Self { shape: self.shape, pages, n_tokens })
    }

    /// What tells the pages apart: clones that share a page give the same number for it.
    pub fn page_ids(&self) -> impl Iterator<Item = usize> {
        self.pages.iter().map(|page| Arc::as_ptr(page).addr())
    }

    /// Adds tokens; keys and values are `(tokens, heads, head_dim)`.
    ///
    /// # Panics
    /// When they are no whole number of tokens, or not equally many.
    pub fn append(&mut self, keys: &[f32], values: &[f32]) {
        let width = self.shape.n_heads * self.shape.head_dim;
        assert!(keys.len() == values.len() && keys.len().is_multiple_of(width), "whole tokens");
        for (keys, values) in keys.chunks_exact(width).zip(values.chunks_exact(width)) {
            let token = self.n_tokens % PAGE;
            if token == 0 {
                self.pages.push(Arc::new(self.shape.page()));
            }
            // Copies the page where others share it.
            if let Some(page) = self.pages.last_mut() {
                match Arc::make_mut(page) {
                    Page::F16(numbers) => numbers.put(self.shape, token, keys, values),
                    Page::F32(numbers) => numbers.put(self.shape, token, keys, values),
                    Page::Q8_0(numbers) => numbers.put(self.shape, token, keys, values),
                }
            }
            self.n_tokens += 1;
        }
    }

    /// Adds tokens; keys and values are `(heads, tokens, head_dim)`, as [`to_floats`](Self::to_floats) gives them.
    ///
    /// # Panics
    /// As [`append`](Self::append).
    pub fn append_heads(&mut self, keys: &[f32], values: &[f32]) {
        let CacheShape { n_heads, head_dim, .. } = self.shape;
        let n_tokens = keys.len() / (n_heads * head_dim);
        let by_token = |floats: &[f32]| -> Vec<f32> {
            let heads =
                (0..n_tokens).flat_map(|token| (0..n_heads).map(move |head| (head * n_tokens + token) * head_dim));
            heads.flat_map(|start| &floats[start..start + head_dim]).copied().collect()
        };
        self.append(&by_token(keys), &by_token(values));
    }

    /// All keys and all values, each `(heads, tokens, head_dim)`.
    pub fn to_floats(&self) -> (Vec<f32>, Vec<f32>) {
        let (shape, mut keys, mut values) = (self.shape, Vec::new(), Vec::new());
        for head in 0..shape.n_heads {
            for token in 0..self.n_tokens {
                for at in 0..shape.head_dim {
                    let (key, value) = match &*self.pages[token / PAGE] {
                        Page::F16(numbers) => numbers.get(shape, token % PAGE, head, at),
                        Page::F32(numbers) => numbers.get(shape, token % PAGE, head, at),
                        Page::Q8_0(numbers) => numbers.get(shape, token % PAGE, head, at),
                    };
                    keys.push(key);
                    values.push(value);
                }
            }
        }
        (keys, values)
    }

    /// A page, of which the type must be the cache's.
    #[inline(always)]
    pub(crate) fn page<T: Kept>(&self, at: usize) -> &Numbers<T> {
        T::of(&self.pages[at]).unwrap_or_else(|| unreachable!("all pages are of the cache's type"))
    }
}
