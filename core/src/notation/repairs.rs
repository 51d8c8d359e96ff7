//! Repairs that were needed to read a call.

use crate::function::Repair;

/// The repairs so far, each kind once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repairs(Vec<Repair>);

impl Repairs {
    pub(crate) fn add(&mut self, repair: Repair) {
        if !self.0.contains(&repair) {
            self.0.push(repair);
        }
    }

    pub(crate) fn add_all(&mut self, others: &Self) {
        others.0.iter().for_each(|repair| self.add(*repair));
    }

    /// The repairs in a fixed order.
    pub(crate) fn into_sorted(mut self) -> Vec<Repair> {
        self.0.sort_unstable();
        self.0
    }
}
