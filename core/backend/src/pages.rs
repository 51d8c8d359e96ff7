//! Keys and values of one layer and sequence, in pages.
//!
//! A clone shares all pages, so a snapshot costs next to nothing. Whoever goes on from a shared page that is not full
//! copies that one page. Pages never move, and attention reads them where they are.

use std::sync::Arc;

use half::f16;

use crate::simd::{LANES, Simd};

/// Tokens of a page: attention sums up page by page, at fixed places, so that a result does not depend on how many
/// tokens came at once.
pub(crate) const PAGE: usize = 64;

/// What keys and values are kept as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheType {
    /// Half the memory and traffic; what other engines take too.
    #[default]
    F16,
    /// For comparing with references to the last digits.
    F32,
}

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
}

/// Keys as `(heads, PAGE / 16, head_dim, 16)`, sixteen tokens side by side; values as `(heads, PAGE, padded head_dim)`.
#[derive(Clone)]
pub(crate) struct Numbers<T> {
    pub(crate) keys: Vec<T>,
    pub(crate) values: Vec<T>,
}

/// A number as it is kept.
pub(crate) trait Kept: Copy + Default {
    fn from_f32(x: f32) -> Self;
    fn to_f32(self) -> f32;
    fn load<S: Simd>(simd: S, from: &[Self; LANES]) -> S::Floats;
    /// The page's numbers, if they are of this type.
    fn of(page: &Page) -> Option<&Numbers<Self>>;
}

impl Kept for u16 {
    #[inline(always)]
    fn from_f32(x: f32) -> Self {
        // The largest f16 in place of infinity, which no weight of 0 hides from a query that must not see it.
        f16::from_f32(x.clamp(f16::MIN.to_f32(), f16::MAX.to_f32())).to_bits()
    }

    #[inline(always)]
    fn to_f32(self) -> f32 {
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
            Page::F32(_) => None,
        }
    }
}

impl Kept for f32 {
    #[inline(always)]
    fn from_f32(x: f32) -> Self {
        x
    }

    #[inline(always)]
    fn to_f32(self) -> f32 {
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
            Page::F16(_) => None,
        }
    }
}

impl CacheShape {
    /// Numbers of a value head, up to a full vector.
    pub(crate) fn padded_dim(self) -> usize {
        self.head_dim.next_multiple_of(LANES)
    }

    fn page(self) -> Page {
        match self.cache_type {
            CacheType::F16 => Page::F16(Numbers::new(self)),
            CacheType::F32 => Page::F32(Numbers::new(self)),
        }
    }

    /// Bytes of a page.
    pub fn page_bytes(self) -> usize {
        let n_numbers = self.n_heads * PAGE * (self.head_dim + self.padded_dim());
        n_numbers
            * match self.cache_type {
                CacheType::F16 => size_of::<u16>(),
                CacheType::F32 => size_of::<f32>(),
            }
    }

    /// Tokens of a page.
    pub fn page_tokens(self) -> usize {
        PAGE
    }
}

impl<T: Kept> Numbers<T> {
    fn new(shape: CacheShape) -> Self {
        let n_rows = shape.n_heads * PAGE;
        Self {
            keys: vec![T::default(); n_rows * shape.head_dim],
            values: vec![T::default(); n_rows * shape.padded_dim()],
        }
    }

    fn put(&mut self, shape: CacheShape, token: usize, keys: &[f32], values: &[f32]) {
        for head in 0..shape.n_heads {
            let first = ((head * PAGE + token / LANES * LANES) * shape.head_dim) + token % LANES;
            let keys = keys[head * shape.head_dim..][..shape.head_dim].iter();
            keys.zip(self.keys[first..].iter_mut().step_by(LANES)).for_each(|(key, to)| *to = T::from_f32(*key));
            let to = &mut self.values[(head * PAGE + token) * shape.padded_dim()..][..shape.head_dim];
            let values = &values[head * shape.head_dim..][..shape.head_dim];
            to.iter_mut().zip(values).for_each(|(to, value)| *to = T::from_f32(*value));
        }
    }

    fn get(&self, shape: CacheShape, token: usize, head: usize, at: usize) -> (f32, f32) {
        let key = self.keys[(head * PAGE + token / LANES * LANES) * shape.head_dim + at * LANES + token % LANES];
        (key.to_f32(), self.values[(head * PAGE + token) * shape.padded_dim() + at].to_f32())
    }
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
