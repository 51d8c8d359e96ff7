//! Bits, written to bytes with the highest first.

#[derive(Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    /// Bits that do not fill a byte yet: the lowest of the number.
    held: u64,
    n_held: u32,
}

impl BitWriter {
    /// Writes the lowest bits of a number, at most 32.
    pub(super) fn write(&mut self, value: u64, n_bits: u32) {
        self.held = self.held << n_bits | value;
        self.n_held += n_bits;
        while 8 <= self.n_held {
            self.n_held -= 8;
            self.bytes.push((self.held >> self.n_held) as u8); // its lowest bits
        }
        self.held &= (1 << self.n_held) - 1;
    }

    /// Writes so many zeros, and a one.
    pub(super) fn write_unary(&mut self, n_zeros: u32) {
        for _ in 0..n_zeros / 32 {
            self.write(0, 32);
        }
        self.write(0, n_zeros % 32);
        self.write(1, 1);
    }

    /// Fills the last byte with zeros.
    pub(super) fn align(&mut self) {
        self.write(0, (8 - self.n_held) % 8);
    }

    /// The whole bytes so far.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
