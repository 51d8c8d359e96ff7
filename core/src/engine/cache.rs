//! The prefix cache: states of sequences, kept for prompts that begin with the same tokens.
//!
//! A function's result, the next question, or another conversation with the same functions makes a prompt that begins
//! with positions computed before; only the rest is prefilled. States are snapshots that share their keys and values (see
//! `model::SequenceState`), taken at ends of messages, because that is where prompts part. A state without convolutions can be
//! cut and serves from any position; one with convolutions serves only from its own end. A session file's state cannot be
//! verified without computing it again, so it serves that session's conversation alone.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::model::SequenceState;
use crate::position::{Position, last_cut};

/// The owner of a cached state: everyone, or one conversation that was restored from a file, with its forks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owner(Option<u64>);

impl Owner {
    /// An owner that differs from all others.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(Some(NEXT.fetch_add(1, Ordering::Relaxed)))
    }
}

/// Prefixes of the most recently used state that are kept beyond the memory limit.
const MAX_PREFIXES: usize = 3;

/// States by their positions, the most recently used last.
pub(crate) struct PrefixCache {
    entries: Vec<CacheEntry>,
    /// Limit in bytes of all states together, except the most recently used one and its prefixes: a conversation that
    /// exceeds the limit alone would otherwise be prefilled whole in every turn, and its state was in memory during the
    /// reply anyway. With 0, nothing is kept.
    max_bytes: usize,
    max_entries: usize,
}

struct CacheEntry {
    positions: Vec<Position>,
    state: Box<dyn SequenceState>,
    /// States after fewer of these positions, in order, where the state cannot be cut.
    pauses: Vec<Box<dyn SequenceState>>,
    owner: Owner,
}

impl CacheEntry {
    fn states(&self) -> impl Iterator<Item = &dyn SequenceState> {
        self.pauses.iter().chain([&self.state]).map(|state| &**state)
    }

    /// Number of leading positions of a prompt that this state covers: all but the last at most, whose logits are needed, and
    /// never a part of embedded content.
    fn n_reusable(&self, prompt: &[Position], owner: Owner) -> usize {
        if self.owner != Owner::default() && self.owner != owner {
            return 0;
        }
        let common = self.positions.iter().zip(prompt).take_while(|(cached, wanted)| cached == wanted).count();
        let most = common.min(prompt.len().saturating_sub(1));
        let most = last_cut(&self.positions, last_cut(prompt, most));
        if self.positions.len() <= most || self.state.can_be_cut() {
            return most;
        }
        let n_positions = self.pauses.iter().map(|state| state.n_positions());
        n_positions.filter(|n_positions| *n_positions <= most).max().unwrap_or(0)
    }

    /// The state after so many of the positions.
    fn state_at(&self, n_positions: usize) -> Option<Box<dyn SequenceState>> {
        let pause = self.pauses.iter().find(|state| state.n_positions() == n_positions);
        pause.cloned().or_else(|| self.state.cut(n_positions))
    }
}

impl PrefixCache {
    pub(crate) fn new(max_bytes: usize, max_entries: usize) -> Self {
        Self { entries: Vec::new(), max_bytes, max_entries }
    }

    /// The state after the longest cached prefix of a prompt, short of the whole prompt: one that serves everyone, or the
    /// owner's own.
    pub(crate) fn find(&mut self, prompt: &[Position], owner: Owner) -> Option<Box<dyn SequenceState>> {
        let reusable = self.entries.iter().map(|entry| entry.n_reusable(prompt, owner)).enumerate();
        let (at, n_positions) =
            reusable.max_by_key(|(_, n_positions)| *n_positions).filter(|(_, n_positions)| 0 < *n_positions)?;
        let entry = self.entries.remove(at);
        let state = entry.state_at(n_positions);
        self.entries.push(entry);
        state
    }

    /// Caches the state after these positions, for all prompts or for the prompts of its owner, and evicts the oldest ones beyond the
    /// limits.
    pub(crate) fn keep(&mut self, positions: &[Position], state: Box<dyn SequenceState>, owner: Owner) {
        self.keep_with(positions, state, Vec::new(), owner);
    }

    /// Caches a state as [`keep`](Self::keep) does, with states after fewer of its positions, to which a prompt may return.
    pub(crate) fn keep_with(
        &mut self,
        positions: &[Position],
        mut state: Box<dyn SequenceState>,
        pauses: Vec<Box<dyn SequenceState>>,
        owner: Owner,
    ) {
        if state.is_spoiled() {
            return;
        }
        state.drop_ahead();
        let can_be_cut = state.can_be_cut();
        // An entry that the new state can replace is not kept as well.
        let is_replaced =
            |entry: &CacheEntry| entry.positions == positions || can_be_cut && positions.starts_with(&entry.positions);
        self.entries.retain(|entry| entry.owner != owner || !is_replaced(entry));
        self.entries.push(CacheEntry { positions: positions.to_vec(), state, pauses, owner });
        let max_entries = if self.max_bytes == 0 { 0 } else { self.max_entries };
        self.entries.drain(..self.entries.len().saturating_sub(max_entries));
        while let Some(at) = self.next_evicted() {
            self.entries.remove(at);
        }
    }

    /// Replaces states by others of the same positions, and forgets those that have none. The others share no memory, so the oldest
    /// are forgotten once the newer ones fill the limit.
    pub(crate) fn adopt(&mut self, adopt: impl Fn(Box<dyn SequenceState>) -> Option<Box<dyn SequenceState>>) {
        let (mut adopted, mut counted, mut n_bytes) = (Vec::new(), HashSet::new(), 0);
        for mut entry in std::mem::take(&mut self.entries).into_iter().rev() {
            let Some(state) = adopt(entry.state) else { continue };
            entry.state = state;
            entry.pauses = entry.pauses.into_iter().filter_map(&adopt).collect();
            n_bytes += entry.states().map(|state| state.n_bytes(&mut counted)).sum::<usize>();
            adopted.push(entry);
            if self.max_bytes < n_bytes {
                break;
            }
        }
        self.entries.extend(adopted.into_iter().rev());
    }

    /// Evicts the state that was not used for longest. Returns false if there is none.
    pub(crate) fn evict_oldest(&mut self) -> bool {
        let has_one = !self.entries.is_empty();
        drop(self.entries.drain(..usize::from(has_one)));
        has_one
    }

    /// The entry to evict next, while all exceed the memory limit: the oldest, except the most recently used one and its
    /// prefixes. Those share its keys and values, and serve where it does not: when its reply is rendered differently from
    /// what the model generated.
    fn next_evicted(&self) -> Option<usize> {
        let mut counted = HashSet::new();
        let n_bytes: usize =
            self.entries.iter().flat_map(CacheEntry::states).map(|state| state.n_bytes(&mut counted)).sum();
        let (last, older) = self.entries.split_last().filter(|_| self.max_bytes < n_bytes)?;
        let is_prefix = |entry: &CacheEntry| last.positions.starts_with(&entry.positions);
        let other = older.iter().position(|entry| !is_prefix(entry));
        other.or((MAX_PREFIXES < older.len()).then_some(0))
    }
}
