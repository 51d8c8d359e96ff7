//! The keys and values of a layer and sequence, in pages. Clones share memory.

use std::sync::Arc;

use crate::device::Gpu;
use crate::error::GpuError;
use crate::kernels::{CacheFormat, Kernel};
use crate::pools::{ItemPool, PoolItem, ReservedItems};
use crate::recorder::Recorder;
use crate::recording::StepRecording;
use crate::rows::GpuRows;

/// Tokens of a page, as on the CPU, where sums go page by page.
pub(crate) const PAGE: usize = 64;
/// Elements of a head that share a scale.
const GROUP: usize = 32;

/// Number, size and storage format of the heads of a layer's keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "as `causerie_backend::CacheShape`")]
pub struct KeyValueShape {
    pub n_heads: usize,
    pub head_dim: usize,
    pub format: CacheFormat,
}

/// The keys and values of one layer and sequence.
#[derive(Clone)]
pub struct GpuKeyValues {
    pub(crate) shape: KeyValueShape,
    pub(crate) pool: Arc<ItemPool>,
    /// From the page `first_page` on: earlier ones were released.
    pub(crate) pages: Vec<Arc<PoolItem>>,
    pub(crate) first_page: usize,
    pub(crate) n_tokens: usize,
    reserved: ReservedItems,
    /// Holders that may write to the page in which the tokens end: for a step ahead, also the sequence that it was made from.
    n_writers: usize,
}

impl KeyValueShape {
    /// Words of a token's elements of a head, and of its scales.
    fn token_words(self) -> (usize, usize) {
        match self.format {
            CacheFormat::F32 => (self.head_dim, 0),
            CacheFormat::F16 => (self.head_dim.div_ceil(2), 0),
            CacheFormat::Q8_0 => (self.head_dim.div_ceil(4), self.head_dim.div_ceil(GROUP)),
        }
    }

    pub(crate) fn page_words(self) -> usize {
        let (n_elements, n_scales) = self.token_words();
        self.n_heads * 2 * PAGE * (n_elements + n_scales)
    }

    /// Bytes of a page.
    pub fn page_bytes(self) -> usize {
        4 * self.page_words()
    }

    /// Tokens of a page.
    pub fn page_tokens(self) -> usize {
        PAGE
    }
}

impl GpuKeyValues {
    /// The keys and values of a sequence without tokens.
    pub fn new(recorder: &Recorder, shape: KeyValueShape) -> Self {
        let pool = recorder.pools().of_words(shape.page_words());
        Self {
            shape,
            pool,
            pages: Vec::new(),
            first_page: 0,
            n_tokens: 0,
            reserved: ReservedItems::default(),
            n_writers: 1,
        }
    }

    /// The shape of all pages.
    pub fn shape(&self) -> KeyValueShape {
        self.shape
    }

    /// Number of tokens.
    pub fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    /// The pages.
    pub fn pages(&self) -> &[Arc<PoolItem>] {
        &self.pages
    }

    /// Returns the keys and values of the first `n_tokens` tokens; `None` if there are fewer, or if they were released.
    pub fn cut(&self, n_tokens: usize) -> Option<Self> {
        let n_pages = n_tokens.div_ceil(PAGE).checked_sub(self.first_page)?;
        let pages = self.pages.get(..n_pages)?.to_vec();
        let (pool, reserved) = (Arc::clone(&self.pool), ReservedItems::default());
        (n_tokens <= self.n_tokens).then(|| Self { pages, n_tokens, pool, reserved, n_writers: 1, ..*self })
    }

    /// The same keys and values, to which tokens are appended before it is known whether the sequence goes on so. They lie where the
    /// sequence ends, and it may go on otherwise.
    pub fn ahead(&self) -> Self {
        Self { n_writers: 2, ..self.clone() }
    }

    /// Ends what [`ahead`](Self::ahead) began: the sequence goes on so, and what it was made from is dropped.
    pub fn settle(&mut self) {
        self.n_writers = 1;
    }

    /// Frees the pages in which all tokens are before the last `n_tokens`. Attention must not read them any more.
    pub fn keep_last(&mut self, n_tokens: usize) {
        let first_page = self.n_tokens.saturating_sub(n_tokens) / PAGE;
        let n_released = first_page.saturating_sub(self.first_page);
        self.pages.drain(..n_released);
        self.first_page += n_released;
    }

    /// Appends some rows of keys and values, `(rows, heads * head_dim)`.
    ///
    /// # Errors
    /// The device has no memory left.
    pub fn append(
        &mut self,
        recorder: &Recorder,
        rows: std::ops::Range<usize>,
        keys: &GpuRows,
        values: &GpuRows,
    ) -> Result<(), GpuError> {
        let (gpu, mut recording) = (recorder.gpu(), recorder.record());
        let recording = &mut *recording;
        let places = self.extend(gpu, recording, rows.len())?;
        let table = recording.append(gpu, places)?;
        let KeyValueShape { n_heads, head_dim, format } = self.shape;
        let head_dim = head_dim as u32;
        let kernel = Kernel::Append { format, head_dim, has_queries: false, has_norms: false, rotation: None };
        let (tables, pages) = (recording.table_buffer(), self.pool.buffer()?);
        let bindings = &[(0, keys.values.get()?), (1, values.values.get()?), (2, &tables), (3, &pages)];
        let numbers = [n_heads as u32, rows.start as u32, table];
        recording.run(gpu, kernel, bindings, &numbers, [rows.len(), n_heads, 1]);
        Ok(())
    }

    /// Takes the pages for some tokens more, which a step then appends without asking for memory; for none, gives them back.
    ///
    /// # Errors
    /// The device has no memory left. Nothing is changed then.
    pub fn reserve(&mut self, recorder: &Recorder, n_tokens: usize) -> Result<(), GpuError> {
        if n_tokens == 0 {
            self.reserved.clear();
            return Ok(());
        }
        let n_pages = (self.n_tokens + n_tokens).div_ceil(PAGE).saturating_sub(self.pages.len() + self.first_page);
        let n_copies = usize::from(self.shares_last_page());
        self.reserved.reserve(&self.pool, recorder.gpu(), &mut recorder.record(), n_pages + n_copies)
    }

    /// Whether others hold the page that the next token lies in.
    fn shares_last_page(&self) -> bool {
        !self.n_tokens.is_multiple_of(PAGE)
            && self.pages.last().is_some_and(|page| self.n_writers < Arc::strong_count(page))
    }

    /// Counts some tokens more. Returns the page of each, and its token in the page.
    pub(crate) fn extend(
        &mut self,
        gpu: &Gpu,
        recording: &mut StepRecording,
        n_tokens: usize,
    ) -> Result<Vec<u32>, GpuError> {
        if self.shares_last_page()
            && let Some(last) = self.pages.last_mut()
        {
            let copy = self.reserved.take(&self.pool, gpu, recording)?;
            self.pool.copy(gpu, recording, last, &copy)?;
            *last = copy;
        }
        while self.pages.len() + self.first_page < (self.n_tokens + n_tokens).div_ceil(PAGE) {
            self.pages.push(self.reserved.take(&self.pool, gpu, recording)?);
        }
        let place = |token: usize| [self.pages[token / PAGE - self.first_page].number, (token % PAGE) as u32];
        let places = (self.n_tokens..self.n_tokens + n_tokens).flat_map(place).collect();
        self.n_tokens += n_tokens;
        Ok(places)
    }

    /// Reads all keys and all values that were not released, each `(heads, tokens, head_dim)`.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn to_floats(&self, recorder: &Recorder) -> Result<(Vec<f32>, Vec<f32>), GpuError> {
        let KeyValueShape { n_heads, head_dim, .. } = self.shape;
        let n_tokens = self.n_tokens - self.first_page * PAGE;
        let (mut keys, mut values) =
            (vec![0.0; n_heads * n_tokens * head_dim], vec![0.0; n_heads * n_tokens * head_dim]);
        if self.pages.is_empty() {
            return Ok((keys, values));
        }
        let (buffer, page_bytes) = (self.pool.buffer()?, self.shape.page_bytes());
        for (at, page) in self.pages.iter().enumerate() {
            let bytes = recorder.read_buffer(&buffer, u64::from(page.number) * page_bytes as u64, page_bytes as u64)?;
            let page = PageWords { shape: self.shape, words: bytemuck::pod_collect_to_vec(&bytes) };
            for head in 0..n_heads {
                for token in 0..PAGE.min(n_tokens - at * PAGE) {
                    let to = (head * n_tokens + at * PAGE + token) * head_dim;
                    for element in 0..head_dim {
                        keys[to + element] = page.key(head, token, element);
                        values[to + element] = page.value(head, token, element);
                    }
                }
            }
        }
        Ok((keys, values))
    }
}

/// A page that was read back; `shaders/pages.wgsl` has its layout.
struct PageWords {
    shape: KeyValueShape,
    words: Vec<u32>,
}

impl PageWords {
    fn key(&self, head: usize, token: usize, element: usize) -> f32 {
        let (n_words, n_scales) = self.shape.token_words();
        let head = head * 2 * PAGE * (n_words + n_scales);
        let per_word = self.per_word();
        let word = self.words[head + element / per_word * PAGE + token];
        let scale = || self.words[head + n_words * PAGE + element / GROUP * PAGE + token];
        self.element(word, element, scale)
    }

    fn value(&self, head: usize, token: usize, element: usize) -> f32 {
        let (n_words, n_scales) = self.shape.token_words();
        let first = (2 * head + 1) * PAGE * (n_words + n_scales);
        let word = self.words[first + token * n_words + element / self.per_word()];
        let scale = || self.words[first + n_words * PAGE + token * n_scales + element / GROUP];
        self.element(word, element, scale)
    }

    fn per_word(&self) -> usize {
        match self.shape.format {
            CacheFormat::F32 => 1,
            CacheFormat::F16 => 2,
            CacheFormat::Q8_0 => 4,
        }
    }

    fn element(&self, word: u32, element: usize, scale: impl Fn() -> u32) -> f32 {
        match self.shape.format {
            CacheFormat::F32 => f32::from_bits(word),
            CacheFormat::F16 => half::f16::from_bits((word >> (16 * (element % 2))) as u16).to_f32(),
            CacheFormat::Q8_0 => f32::from((word >> (8 * (element % 4))) as u8 as i8) * f32::from_bits(scale()),
        }
    }
}
