//! The decays of delta nets, on the processor of a model.

use crate::cpu::Cpu;
use crate::ops::decay::Decays;

impl Cpu {
    /// Replaces rows by the decays of delta nets, `exp(log_decays * ln(1 + e^(row + bias)))`.
    ///
    /// # Panics
    /// If sizes do not match.
    pub fn decays(&self, rows: &mut [f32], log_decays: &[f32], bias: &[f32]) {
        let width = log_decays.len();
        assert!(bias.len() == width && rows.len().is_multiple_of(width.max(1)), "sizes must match");
        rows.chunks_exact_mut(width.max(1)).for_each(|row| self.tier.run(Decays { row, log_decays, bias }));
    }
}
