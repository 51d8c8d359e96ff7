//! Timers, stored in a file so that they outlive the chat that set them.
use std::time::Duration;

use jiff::{SignedDuration, Zoned};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::functions::store::ListFile;

/// A running timer.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Timer {
    pub(crate) label: Option<String>,
    /// The duration as it was given: `12 minutes`.
    pub(crate) duration: String,
    pub(crate) rings_at: Zoned,
}

impl Timer {
    /// The name of the timer: its label, else its duration.
    pub(crate) fn name(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.duration)
    }

    /// The remaining time in words.
    pub(super) fn left(&self, now: &Zoned) -> String {
        let seconds = now.duration_until(&self.rings_at).as_secs().max(0);
        let parts = [(seconds / 3600, "hour"), (seconds / 60 % 60, "minute"), (seconds % 60, "second")];
        let words = parts.iter().filter(|(count, _)| 0 < *count).map(|(count, unit)| plural(*count, unit));
        let words: Vec<String> = words.collect();
        if words.is_empty() { plural(0, "second") } else { words.join(" ") }
    }
}

fn plural(count: i64, unit: &str) -> String {
    if count == 1 { format!("1 {unit}") } else { format!("{count} {unit}s") }
}

/// The user's timers.
pub(crate) struct Timers {
    file: ListFile,
    /// Held while the list is read, changed and written: the chat sets timers while another thread removes them.
    changing: Mutex<()>,
}

impl Timers {
    pub(super) fn new(file: ListFile) -> Self {
        Self { file, changing: Mutex::default() }
    }

    pub(super) fn set(&self, duration: f64, unit: &str, label: Option<&str>, now: &Zoned) -> Result<Timer, String> {
        let seconds = match unit {
            "seconds" => 1.0,
            "minutes" => 60.0,
            "hours" => 3600.0,
            other => return Err(format!("no unit named {other}")),
        };
        let is_valid = (0.0..=31.0 * 86_400.0).contains(&(duration * seconds)) && 0.0 < duration;
        if !is_valid {
            return Err("the duration must be more than 0 and at most 31 days".to_owned());
        }
        let length = SignedDuration::from_secs_f64(duration * seconds);
        let rings_at = now.checked_add(length).map_err(|err| err.to_string())?;
        let singular = unit.trim_end_matches('s');
        let words = if duration == 1.0 { format!("1 {singular}") } else { format!("{duration} {unit}") };
        let label = label.filter(|label| !label.is_empty()).map(str::to_owned);
        let timer = Timer { label, duration: words, rings_at };
        let _changing = self.changing.lock();
        let mut timers: Vec<Timer> = self.file.load()?;
        timers.push(timer.clone());
        self.file.save(&timers)?;
        Ok(timer)
    }

    /// Returns the timers that have not rung yet, the next one first.
    pub(crate) fn running(&self, now: &Zoned) -> Result<Vec<Timer>, String> {
        let mut timers: Vec<Timer> = self.file.load()?;
        timers.retain(|timer| *now < timer.rings_at);
        timers.sort_by(|a, b| a.rings_at.cmp(&b.rings_at));
        Ok(timers)
    }

    /// Removes and returns the timers whose time has come.
    pub(crate) fn take_due(&self, now: &Zoned) -> Result<Vec<Timer>, String> {
        let _changing = self.changing.lock();
        let (due, running): (Vec<Timer>, Vec<Timer>) =
            self.file.load()?.into_iter().partition(|timer: &Timer| &timer.rings_at <= now);
        if !due.is_empty() {
            self.file.save(&running)?;
        }
        Ok(due)
    }

    /// The time until the next timer rings; `None` if there is none.
    pub(crate) fn until_next(&self, now: &Zoned) -> Option<Duration> {
        let next = self.running(now).ok()?.into_iter().next()?;
        Duration::try_from(now.duration_until(&next.rings_at)).ok()
    }
}
