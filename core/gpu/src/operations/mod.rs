//! The operations that models are made of, each as one kernel, or two.

mod attention;
mod choices;
mod delta_net;
mod experts;
mod inputs;
mod products;
mod row_products;
mod rows;

pub use attention::{AttentionRow, PlacedHeads};
pub use choices::{ChoiceRows, LargestValue, PendingLargest};
pub use experts::{ChosenExperts, ExpertChoice};
pub use products::OutputNorm;
pub use row_products::NormedRow;
pub use rows::RowRotation;
