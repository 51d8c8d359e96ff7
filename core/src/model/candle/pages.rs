//! Keys and values of one layer and sequence, in pages of tensors.
//!
//! A page is written from front to back. A snapshot that shares it reads only the tokens that were there when the snapshot
//! was taken. When two sequences continue differently from one snapshot, the second one copies the page in which they differ.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use candle_core::{DType, Result as TensorResult, Tensor};

/// Tokens of a page: large enough that attention spends its time on products, small enough to copy.
pub(super) const PAGE: usize = 256;

/// Keys and values of one layer and sequence.
#[derive(Clone, Default)]
pub(crate) struct CandleKeyValues {
    /// From the page `first_page` on: earlier ones have been released.
    pages: Vec<Arc<CandlePage>>,
    first_page: usize,
    n_tokens: usize,
}

struct CandlePage {
    /// `(kv_heads, PAGE, head_dim)`, as are the values.
    keys: Tensor,
    values: Tensor,
    /// Tokens written, by any sequence.
    n_written: AtomicUsize,
}

impl CandleKeyValues {
    /// The id and the bytes of each page.
    pub(crate) fn page_sizes(&self) -> impl Iterator<Item = (usize, usize)> {
        let n_bytes = |page: &CandlePage| 2 * page.keys.elem_count() * page.keys.dtype().size_in_bytes();
        self.pages.iter().map(move |page| (Arc::as_ptr(page).addr(), n_bytes(page)))
    }

    /// Tokens so far.
    pub(crate) fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    /// Adds keys and values, each `(kv_heads, time, head_dim)`.
    pub(crate) fn append(&mut self, k: &Tensor, v: &Tensor) -> TensorResult<()> {
        let (n_heads, time, head_dim) = k.dims3()?;
        let mut n_done = 0;
        while n_done < time {
            let n_before = self.n_tokens % PAGE;
            if n_before == 0 {
                self.pages.push(Arc::new(CandlePage::new(k, (n_heads, PAGE, head_dim))?));
            }
            let Some(page) = self.pages.last_mut() else { candle_core::bail!("no page for keys and values") };
            // Another sequence has continued from here before: this one needs its own page.
            if page.n_written.load(Ordering::Relaxed) != n_before {
                *page = Arc::new(page.copy(n_before)?);
            }
            let n_now = (PAGE - n_before).min(time - n_done);
            page.keys.slice_set(&k.narrow(1, n_done, n_now)?.contiguous()?, 1, n_before)?;
            page.values.slice_set(&v.narrow(1, n_done, n_now)?.contiguous()?, 1, n_before)?;
            page.n_written.store(n_before + n_now, Ordering::Relaxed);
            self.n_tokens += n_now;
            n_done += n_now;
        }
        Ok(())
    }

    /// Frees the pages in which all tokens are before the last `n_tokens`.
    pub(crate) fn keep_last(&mut self, n_tokens: usize) {
        let first_page = self.n_tokens.saturating_sub(n_tokens) / PAGE;
        let n_released = first_page.saturating_sub(self.first_page);
        self.pages.drain(..n_released);
        self.first_page += n_released;
    }

    /// The number of pages that were released.
    pub(super) fn first_page(&self) -> usize {
        self.first_page
    }

    /// Keys and values page by page, each `(kv_heads, tokens, head_dim)`, without released pages.
    pub(crate) fn pages(&self) -> impl Iterator<Item = TensorResult<(Tensor, Tensor)>> {
        self.pages.iter().zip(self.first_page..).map(|(page, at)| {
            let n_tokens = (self.n_tokens - at * PAGE).min(PAGE);
            Ok((page.keys.narrow(1, 0, n_tokens)?, page.values.narrow(1, 0, n_tokens)?))
        })
    }

    /// All keys and all values, each `(kv_heads, tokens, head_dim)`.
    pub(crate) fn joined(&self) -> TensorResult<(Tensor, Tensor)> {
        let (keys, values): (Vec<_>, Vec<_>) = self.pages().collect::<TensorResult<Vec<_>>>()?.into_iter().unzip();
        Ok((Tensor::cat(&keys, 1)?, Tensor::cat(&values, 1)?))
    }

    pub(crate) fn cut(&self, n_tokens: usize) -> Option<Self> {
        let n_pages = n_tokens.div_ceil(PAGE).checked_sub(self.first_page)?;
        let pages = self.pages.get(..n_pages)?.to_vec();
        (n_tokens <= self.n_tokens).then_some(Self { pages, n_tokens, ..*self })
    }
}

impl CandlePage {
    fn new(like: &Tensor, shape: (usize, usize, usize)) -> TensorResult<Self> {
        let buffer = || Tensor::zeros(shape, DType::F32, like.device());
        Ok(Self { keys: buffer()?, values: buffer()?, n_written: AtomicUsize::new(0) })
    }

    /// A new page with the first tokens of this one.
    fn copy(&self, n_tokens: usize) -> TensorResult<Self> {
        let copy = Self::new(&self.keys, self.keys.dims3()?)?;
        if 0 < n_tokens {
            copy.keys.slice_set(&self.keys.narrow(1, 0, n_tokens)?.contiguous()?, 1, 0)?;
            copy.values.slice_set(&self.values.narrow(1, 0, n_tokens)?.contiguous()?, 1, 0)?;
        }
        copy.n_written.store(n_tokens, Ordering::Relaxed);
        Ok(copy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    /// One head of one value for each token.
    fn values(range: std::ops::Range<usize>) -> Tensor {
        let values: Vec<f32> = range.map(|value| value as f32).collect();
        let n = values.len();
        Tensor::from_vec(values, (1, n, 1), &Device::Cpu).unwrap()
    }

    #[track_caller]
    fn check(past: &CandleKeyValues, expect: impl Iterator<Item = usize>) {
        let read = past.pages().flat_map(|page| page.unwrap().0.flatten_all().unwrap().to_vec1::<f32>().unwrap());
        assert_eq!(read.collect::<Vec<_>>(), expect.map(|value| value as f32).collect::<Vec<_>>());
    }

    fn append(past: &mut CandleKeyValues, range: std::ops::Range<usize>) {
        let new = values(range);
        past.append(&new, &new).unwrap();
    }

    #[test]
    fn sequences_that_continue_differently_do_not_see_each_other() {
        let mut first = CandleKeyValues::default();
        append(&mut first, 0..300);
        let snapshot = first.clone();
        append(&mut first, 300..600);
        let (mut second, mut third) = (snapshot.clone(), snapshot.cut(10).unwrap());
        append(&mut second, 1000..1005);
        append(&mut third, 2000..2300);
        check(&first, 0..600);
        check(&snapshot, 0..300);
        check(&second, (0..300).chain(1000..1005));
        check(&third, (0..10).chain(2000..2300));
        assert!(snapshot.cut(301).is_none());
    }
}
