//! The bytes of a sequence's state, for sessions that outlive the process.
//!
//! The format, little-endian: the number of positions (u64), then for each layer its kind (u8). Kind 0 is a convolution:
//! rows and columns (u32), then its inputs (f32). The other kinds are attention, whose keys and values were stored as F32
//! (1), F16 (2) or Q8_0 (3): heads and head size (u32), then the keys and the values (f32), each as `(heads, positions,
//! head size)`. A delta net is a convolution, followed by kind 4: value heads and elements of a matrix (u32), then the
//! matrices (f32) in the order in which the network computes them. If the sequence has images whose positions are counted by rows
//! and columns, kind 5 ends the bytes: their number and 2 (u32), then for each the first position after it, and how far rotary
//! positions are behind from there on (f32). A restored state continues bit for bit as the saved one would have, so it can be used
//! only with the same storage format.

/// The kind of a layer in the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SavedLayerKind(u8);

impl SavedLayerKind {
    pub(crate) const CONVOLUTION: Self = Self(0);
    pub(crate) const ATTENTION_F32: Self = Self(1);
    pub(crate) const ATTENTION_F16: Self = Self(2);
    pub(crate) const ATTENTION_Q8_0: Self = Self(3);
    pub(crate) const DELTA_NET: Self = Self(4);
    pub(crate) const ROTARY_SHIFTS: Self = Self(5);
}

/// Writes a state as bytes.
pub(crate) struct StateWriter(Vec<u8>);

impl StateWriter {
    pub(crate) fn new(n_positions: usize) -> Self {
        Self((n_positions as u64).to_le_bytes().to_vec())
    }

    /// Adds a layer.
    pub(crate) fn layer(&mut self, kind: SavedLayerKind, sizes: [usize; 2], values: &[&[f32]]) {
        self.0.push(kind.0);
        // Sizes of what is in memory are far below 2^32.
        sizes.iter().for_each(|size| self.0.extend((*size as u32).to_le_bytes()));
        values.iter().for_each(|values| self.0.extend(values.iter().flat_map(|value| value.to_le_bytes())));
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Reads the bytes of a state, which are not trusted: every size is compared with the one that the network expects.
pub(crate) struct StateReader<'a> {
    rest: &'a [u8],
    n_positions: usize,
}

impl<'a> StateReader<'a> {
    /// `None` for bytes that hold no position.
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Self> {
        let (n_positions, rest) = bytes.split_first_chunk()?;
        let n_positions = usize::try_from(u64::from_le_bytes(*n_positions)).ok()?;
        (0 < n_positions).then_some(Self { rest, n_positions })
    }

    pub(crate) fn n_positions(&self) -> usize {
        self.n_positions
    }

    /// Reads the head of a layer; `None` if it is of another kind or has other sizes.
    pub(crate) fn expect_layer(&mut self, kind: SavedLayerKind, sizes: [usize; 2]) -> Option<()> {
        (self.sizes(kind)? == sizes).then_some(())
    }

    /// Reads the head of a part, and returns its sizes; `None` if it is of another kind.
    pub(crate) fn sizes(&mut self, kind: SavedLayerKind) -> Option<[usize; 2]> {
        let [found] = *self.take()?;
        let sizes = [self.size()?, self.size()?];
        (found == kind.0).then_some(sizes)
    }

    /// Reads the values of an array of this shape.
    pub(crate) fn values(&mut self, shape: &[usize]) -> Option<Vec<f32>> {
        let n_bytes = shape.iter().try_fold(size_of::<f32>(), |product, size| product.checked_mul(*size))?;
        let (taken, rest) = self.rest.split_at_checked(n_bytes)?;
        self.rest = rest;
        let (chunks, _) = taken.as_chunks::<4>();
        Some(chunks.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    /// Whether all bytes were read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    fn size(&mut self) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(*self.take()?)).ok()
    }

    fn take<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(taken)
    }
}
