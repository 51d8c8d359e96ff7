//! Tests of the engine as its users see it, one module for each subject.

mod calls;
mod floors;
