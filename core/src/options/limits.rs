//! Limits of options, and the error for one that is out of its limits.

use std::collections::BTreeMap;
use std::fmt::Display;

use crate::error::{ErrorKind, Result, SdkError};

/// The limits of a number. Only finite numbers are within any.
#[derive(Clone, Copy)]
pub(crate) enum Limits<N> {
    AtLeast(N),
    Above(N),
    Between(N, N),
}

impl<N: PartialOrd + Display + Copy> Limits<N> {
    fn check(self, name: &'static str, value: N, is_finite: bool) -> Result<()> {
        let (is_within, limits) = match self {
            Self::AtLeast(least) => (least <= value, format!("{least} or more")),
            Self::Above(bound) => (bound < value, format!("above {bound}")),
            Self::Between(least, most) => ((least..=most).contains(&value), format!("between {least} and {most}")),
        };
        if is_within && is_finite { Ok(()) } else { Err(out_of_range(name, value, &limits)) }
    }
}

/// An option whose values may have limits. An absent one is within them.
pub(crate) trait Limited<N> {
    fn check(&self, name: &'static str, limits: Limits<N>) -> Result<()>;
}

impl Limited<f32> for Option<f32> {
    fn check(&self, name: &'static str, limits: Limits<f32>) -> Result<()> {
        self.map_or(Ok(()), |value| limits.check(name, value, value.is_finite()))
    }
}

impl Limited<usize> for Option<usize> {
    fn check(&self, name: &'static str, limits: Limits<usize>) -> Result<()> {
        self.map_or(Ok(()), |value| limits.check(name, value, true))
    }
}

impl Limited<f32> for BTreeMap<u32, f32> {
    fn check(&self, name: &'static str, limits: Limits<f32>) -> Result<()> {
        self.values().try_for_each(|value| Some(*value).check(name, limits))
    }
}

pub(crate) fn out_of_range(name: &'static str, value: impl Display, range: &str) -> SdkError {
    SdkError::new(ErrorKind::InvalidOption(name), format!("{name} must be {range}, found {value}"))
}
