//! Keys and values of one layer and sequence, in pages.
//!
//! A clone shares all pages, so a snapshot costs next to nothing. Appending to a shared page that is not full copies that one
//! page. Pages never move, and attention reads them in place.

use std::io;
use std::sync::Arc;

use half::f16;

use crate::simd::{LANES, Simd, round};

/// Tokens of a page. Attention sums page by page, and pages begin at fixed positions, so a result does not depend on how many
/// tokens were computed at once.
pub(crate) const PAGE: usize = 64;

/// Storage format of keys and values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheType {
    /// Half the memory and bandwidth of F32; the default of other engines, too.
    #[default]
    F16,
    /// For comparison with reference implementations to the last digits.
    F32,
    /// Bytes, with a scale for each 32 elements of a head: little more than half the memory of F16, for long contexts. Less
    /// precise; measure what it costs in the quality of your model.
    Q8_0,
}

/// Elements of a head that share a scale, in formats with scales.
pub(crate) const GROUP: usize = 32;

/// Number, size and storage format of the heads of a layer's keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheShape {
    /// Number of key heads, and of value heads.
    pub n_heads: usize,
    /// Elements of a head.
    pub head_dim: usize,
    /// Storage format of the elements.
    pub cache_type: CacheType,
}

/// The keys and values of one layer and sequence.
#[derive(Clone)]
pub struct KeyValues {
    shape: CacheShape,
    /// From the page `first_page` on: earlier ones have been released.
    pages: Vec<Arc<CachePage>>,
    first_page: usize,
    n_tokens: usize,
}

#[derive(Clone)]
pub(crate) enum CachePage {
    F16(PageElements<u16>),
    F32(PageElements<f32>),
    Q8_0(PageElements<i8>),
}

/// Keys as `(heads, PAGE / 16, head_dim, 16)`, sixteen tokens interleaved; values as `(heads, PAGE, padded head_dim)`. Scales,
/// if any, have the same layout, with one for each group of a head.
#[derive(Clone)]
pub(crate) struct PageElements<T> {
    pub(crate) keys: Vec<T>,
    pub(crate) values: Vec<T>,
    pub(crate) key_scales: Vec<f32>,
    pub(crate) value_scales: Vec<f32>,
}

/// An element of keys or values in its storage format.
pub(crate) trait CacheElement: Copy + Default {
    /// Whether the value is the element times the scale of its group.
    const HAS_SCALE: bool = false;
    /// Returns the scale of a group.
    fn scale_of(group: impl Iterator<Item = f32>) -> f32 {
        let _ = group;
        1.0
    }
    fn from_f32(x: f32, scale: f32) -> Self;
    fn to_f32(self, scale: f32) -> f32;
    /// Loads elements as floats, without their scales.
    fn load<S: Simd>(simd: S, from: &[Self; LANES]) -> S::Floats;
    /// The page's elements, if they have this type.
    fn of(page: &CachePage) -> Option<&PageElements<Self>>;
}

impl CacheElement for u16 {
    #[inline(always)]
    fn from_f32(x: f32, _: f32) -> Self {
        // The largest f16 instead of infinity: an infinite value times the weight 0 would be NaN, even for queries that must
        // not attend to the token.
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
    fn of(page: &CachePage) -> Option<&PageElements<Self>> {
        match page {
            CachePage::F16(elements) => Some(elements),
            _ => None,
        }
    }
}

impl CacheElement for f32 {
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
    fn of(page: &CachePage) -> Option<&PageElements<Self>> {
        match page {
            CachePage::F32(elements) => Some(elements),
            _ => None,
        }
    }
}

impl CacheElement for i8 {
    const HAS_SCALE: bool = true;

    /// Scales the largest magnitude to 127. A scale has 17 bits, so that its products with seven-bit integers are exact in
    /// f32: storing values that were read back gives the same bytes.
    #[inline(always)]
    fn scale_of(group: impl Iterator<Item = f32>) -> f32 {
        const SPARE: u32 = (1 << (f32::MANTISSA_DIGITS - 17)) - 1;
        let largest = group.fold(0.0, |largest: f32, x| largest.max(x.abs())).min(MAX_VALUE);
        f32::from_bits(((largest / 127.0).to_bits() + SPARE.div_ceil(2)) & !SPARE)
    }

    #[inline(always)]
    fn from_f32(x: f32, scale: f32) -> Self {
        round(x.clamp(-MAX_VALUE, MAX_VALUE) / scale) as i8 // 0 for 0 / 0
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
    fn of(page: &CachePage) -> Option<&PageElements<Self>> {
        match page {
            CachePage::Q8_0(elements) => Some(elements),
            _ => None,
        }
    }
}

/// Largest magnitude; larger ones, including infinity, are clamped to it.
const MAX_VALUE: f32 = 1e30;

impl CacheShape {
    /// Elements of a value head, padded to a full vector.
    pub(crate) fn padded_dim(self) -> usize {
        self.head_dim.next_multiple_of(LANES)
    }

    fn page(self) -> io::Result<CachePage> {
        Ok(match self.cache_type {
            CacheType::F16 => CachePage::F16(PageElements::new(self)?),
            CacheType::F32 => CachePage::F32(PageElements::new(self)?),
            CacheType::Q8_0 => CachePage::Q8_0(PageElements::new(self)?),
        })
    }

    /// Groups of a head.
    pub(crate) fn n_groups(self) -> usize {
        self.head_dim.div_ceil(GROUP)
    }

    /// Bytes of a page.
    pub fn page_bytes(self) -> usize {
        let n_elements = self.head_dim + self.padded_dim();
        let token_bytes = match self.cache_type {
            CacheType::F16 => n_elements * size_of::<u16>(),
            CacheType::F32 => n_elements * size_of::<f32>(),
            CacheType::Q8_0 => n_elements + 2 * self.n_groups() * size_of::<f32>(),
        };
        self.n_heads * PAGE * token_bytes
    }

    /// Tokens of a page.
    pub fn page_tokens(self) -> usize {
        PAGE
    }
}

impl<T: CacheElement> PageElements<T> {
    fn new(shape: CacheShape) -> io::Result<Self> {
        let n_rows = shape.n_heads * PAGE;
        let n_scales = if T::HAS_SCALE { n_rows * shape.n_groups() } else { 0 };
        Ok(Self {
            keys: zeros(n_rows * shape.head_dim)?,
            values: zeros(n_rows * shape.padded_dim())?,
            key_scales: zeros(n_scales)?,
            value_scales: zeros(n_scales)?,
        })
    }

    fn set_token(&mut self, shape: CacheShape, token: usize, keys: &[f32], values: &[f32]) {
        let CacheShape { n_heads, head_dim, .. } = shape;
        for head in 0..n_heads {
            let elements = head * head_dim..(head + 1) * head_dim;
            for (at, group) in keys[elements.clone()].chunks(GROUP).enumerate() {
                let scale = T::scale_of(group.iter().copied());
                if T::HAS_SCALE {
                    self.key_scales[key_index(shape.n_groups(), token, head, at)] = scale;
                }
                let to = self.keys[key_index(head_dim, token, head, at * GROUP)..].iter_mut().step_by(LANES);
                to.zip(group).for_each(|(to, key)| *to = T::from_f32(*key, scale));
            }
            for (at, group) in values[elements].chunks(GROUP).enumerate() {
                let scale = T::scale_of(group.iter().copied());
                if T::HAS_SCALE {
                    self.value_scales[value_index(shape.n_groups(), token, head, at)] = scale;
                }
                let to = self.values[value_index(shape.padded_dim(), token, head, at * GROUP)..].iter_mut();
                to.zip(group).for_each(|(to, value)| *to = T::from_f32(*value, scale));
            }
        }
    }

    fn get(&self, shape: CacheShape, token: usize, head: usize, at: usize) -> (f32, f32) {
        let (mut key_scale, mut value_scale) = (1.0, 1.0);
        if T::HAS_SCALE {
            key_scale = self.key_scales[key_index(shape.n_groups(), token, head, at / GROUP)];
            value_scale = self.value_scales[value_index(shape.n_groups(), token, head, at / GROUP)];
        }
        let key = self.keys[key_index(shape.head_dim, token, head, at)].to_f32(key_scale);
        (key, self.values[value_index(shape.padded_dim(), token, head, at)].to_f32(value_scale))
    }
}

/// Zeroed elements, or an error where memory ends.
fn zeros<T: Copy + Default>(n: usize) -> io::Result<Vec<T>> {
    let mut elements = Vec::new();
    elements.try_reserve_exact(n).map_err(|_| io::ErrorKind::OutOfMemory)?;
    elements.resize(n, T::default());
    Ok(elements)
}

/// Index of a key's element in a page, `(heads, PAGE / 16, width, 16)`.
#[inline(always)]
fn key_index(width: usize, token: usize, head: usize, at: usize) -> usize {
    ((head * PAGE / LANES + token / LANES) * width + at) * LANES + token % LANES
}

/// Index of a value's element in a page, `(heads, PAGE, width)`.
#[inline(always)]
fn value_index(width: usize, token: usize, head: usize, at: usize) -> usize {
    (head * PAGE + token) * width + at
}

impl KeyValues {
    /// Creates the keys and values of a sequence without tokens.
    pub fn new(shape: CacheShape) -> Self {
        Self { shape, pages: Vec::new(), first_page: 0, n_tokens: 0 }
    }

    /// Shape of all pages.
    pub fn shape(&self) -> CacheShape {
        self.shape
    }

    /// Number of tokens.
    pub fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    /// Returns the keys and values of the first `n_tokens` tokens; `None` if there are fewer, or if they were released.
    pub fn cut(&self, n_tokens: usize) -> Option<Self> {
        let n_pages = n_tokens.div_ceil(PAGE).checked_sub(self.first_page)?;
        let pages = self.pages.get(..n_pages)?.to_vec();
        (n_tokens <= self.n_tokens).then_some(Self { pages, n_tokens, ..*self })
    }

    /// Frees the pages in which all tokens are before the last `n_tokens`. Attention must not read them any more.
    pub fn keep_last(&mut self, n_tokens: usize) {
        let first_page = self.n_tokens.saturating_sub(n_tokens) / PAGE;
        let n_released = first_page.saturating_sub(self.first_page);
        self.pages.drain(..n_released);
        self.first_page += n_released;
    }

    /// Identifiers of the pages. Clones that share a page return the same identifier for it.
    pub fn page_ids(&self) -> impl Iterator<Item = usize> {
        self.pages.iter().map(|page| Arc::as_ptr(page).addr())
    }

    /// Allocates the pages for more tokens, so that [`append`](Self::append) needs no memory for them.
    ///
    /// # Errors
    /// [`io::ErrorKind::OutOfMemory`].
    pub fn reserve(&mut self, n_tokens: usize) -> io::Result<()> {
        let n_pages = (self.n_tokens + n_tokens).div_ceil(PAGE) - self.first_page;
        self.pages.try_reserve(n_pages.saturating_sub(self.pages.len())).map_err(|_| io::ErrorKind::OutOfMemory)?;
        while self.pages.len() < n_pages {
            self.pages.push(Arc::new(self.shape.page()?));
        }
        Ok(())
    }

    /// Appends tokens; keys and values are `(tokens, heads, head_dim)`.
    ///
    /// # Panics
    /// If their lengths differ, or are not a multiple of a token's elements; and if memory ends that was not
    /// [reserved](Self::reserve).
    pub fn append(&mut self, keys: &[f32], values: &[f32]) {
        let width = self.shape.n_heads * self.shape.head_dim;
        assert!(
            keys.len() == values.len() && keys.len().is_multiple_of(width),
            "keys and values must be whole tokens, equally many"
        );
        for (keys, values) in keys.chunks_exact(width).zip(values.chunks_exact(width)) {
            let token = self.n_tokens % PAGE;
            assert!(self.reserve(1).is_ok(), "memory for a page of keys and values has ended");
            // Copies the page if clones share it.
            if let Some(page) = self.pages.get_mut(self.n_tokens / PAGE - self.first_page) {
                match Arc::make_mut(page) {
                    CachePage::F16(elements) => elements.set_token(self.shape, token, keys, values),
                    CachePage::F32(elements) => elements.set_token(self.shape, token, keys, values),
                    CachePage::Q8_0(elements) => elements.set_token(self.shape, token, keys, values),
                }
            }
            self.n_tokens += 1;
        }
    }

    /// Appends tokens; keys and values are `(heads, tokens, head_dim)`, as [`to_floats`](Self::to_floats) returns them.
    ///
    /// # Panics
    /// As [`append`](Self::append) does.
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

    /// Returns all keys and all values that were not released, each `(heads, tokens, head_dim)`.
    pub fn to_floats(&self) -> (Vec<f32>, Vec<f32>) {
        let (shape, mut keys, mut values) = (self.shape, Vec::new(), Vec::new());
        for head in 0..shape.n_heads {
            for token in self.first_page * PAGE..self.n_tokens {
                for at in 0..shape.head_dim {
                    let (key, value) = match &*self.pages[token / PAGE - self.first_page] {
                        CachePage::F16(elements) => elements.get(shape, token % PAGE, head, at),
                        CachePage::F32(elements) => elements.get(shape, token % PAGE, head, at),
                        CachePage::Q8_0(elements) => elements.get(shape, token % PAGE, head, at),
                    };
                    keys.push(key);
                    values.push(value);
                }
            }
        }
        (keys, values)
    }

    /// Returns a page. `T` must be the element of the cache's type.
    #[inline(always)]
    pub(crate) fn page<T: CacheElement>(&self, at: usize) -> &PageElements<T> {
        T::of(&self.pages[at - self.first_page]).unwrap_or_else(|| unreachable!("all pages have the cache's type"))
    }
}
