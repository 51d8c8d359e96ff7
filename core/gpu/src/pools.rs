//! Items of one size in one buffer: pages of keys and values, and windows of convolutions. Clones share an item by its handle; the
//! last handle gives it back.

use std::sync::Arc;

use parking_lot::Mutex;
use wgpu::Buffer;

use crate::device::Gpu;
use crate::error::GpuError;
use crate::kernels::Kernel;
use crate::recording::StepRecording;

/// Words that a workgroup of the kernel that copies an item takes.
const COPIED: usize = 256;

/// A pool, which grows as it is needed.
pub(crate) struct ItemPool {
    pub(crate) n_words: usize,
    budget: Arc<PoolBudget>,
    items: Mutex<Items>,
}

#[derive(Default)]
struct Items {
    buffer: Option<Buffer>,
    n_items: u32,
    free: Vec<u32>,
}

/// The pools of a model, by the size of their items.
pub(crate) struct ItemPools {
    pools: Mutex<Vec<Arc<ItemPool>>>,
    budget: Arc<PoolBudget>,
}

/// The memory that all pools of a model may take.
struct PoolBudget {
    max_bytes: u64,
    used: Mutex<u64>,
}

impl ItemPools {
    pub(crate) fn new(max_bytes: u64) -> Self {
        Self { pools: Mutex::default(), budget: Arc::new(PoolBudget { max_bytes, used: Mutex::default() }) }
    }

    pub(crate) fn of_words(&self, n_words: usize) -> Arc<ItemPool> {
        let mut pools = self.pools.lock();
        if let Some(pool) = pools.iter().find(|pool| pool.n_words == n_words) {
            return Arc::clone(pool);
        }
        let budget = Arc::clone(&self.budget);
        pools.push(Arc::new(ItemPool { n_words, budget, items: Mutex::default() }));
        Arc::clone(&pools[pools.len() - 1])
    }
}

/// Items that a sequence has taken ahead, for its own next step: a clone has none.
#[derive(Default)]
pub(crate) struct ReservedItems(Vec<Arc<PoolItem>>);

impl Clone for ReservedItems {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl ReservedItems {
    /// Takes items until there are so many. If the pool has fewer, all are given back.
    pub(crate) fn reserve(
        &mut self,
        pool: &Arc<ItemPool>,
        gpu: &Gpu,
        recording: &mut StepRecording,
        n_items: usize,
    ) -> Result<(), GpuError> {
        while self.0.len() < n_items {
            match pool.take(gpu, recording) {
                Ok(item) => self.0.push(item),
                Err(err) => {
                    self.0.clear();
                    return Err(err);
                }
            }
        }
        Ok(())
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// An item that was reserved, or another one of the pool.
    pub(crate) fn take(
        &mut self,
        pool: &Arc<ItemPool>,
        gpu: &Gpu,
        recording: &mut StepRecording,
    ) -> Result<Arc<PoolItem>, GpuError> {
        self.0.pop().map_or_else(|| pool.take(gpu, recording), Ok)
    }
}

/// A handle of an item.
pub struct PoolItem {
    pub(crate) number: u32,
    pool: Arc<ItemPool>,
}

impl Drop for PoolItem {
    fn drop(&mut self) {
        // Kernels that read the item were recorded before the kernels of its next owner.
        self.pool.items.lock().free.push(self.number);
    }
}

impl ItemPool {
    /// An item, whose words are undefined.
    pub(crate) fn take(self: &Arc<Self>, gpu: &Gpu, recording: &mut StepRecording) -> Result<Arc<PoolItem>, GpuError> {
        let mut items = self.items.lock();
        if items.free.is_empty() {
            self.grow(&mut items, gpu, recording)?;
        }
        let number = items.free.pop().ok_or_else(|| GpuError::Failed("a pool has no items".to_owned()))?;
        Ok(Arc::new(PoolItem { number, pool: Arc::clone(self) }))
    }

    /// Copies an item that others hold, too.
    pub(crate) fn copy(
        &self,
        gpu: &Gpu,
        recording: &mut StepRecording,
        item: &PoolItem,
        copy: &PoolItem,
    ) -> Result<(), GpuError> {
        let buffer = self.buffer()?;
        let numbers = [self.n_words as u32, item.number, copy.number];
        let groups = [self.n_words.div_ceil(COPIED), 1, 1];
        recording.run(gpu, Kernel::CopyItem, &[(0, &buffer)], &numbers, groups);
        Ok(())
    }

    /// The buffer of all items. It is another one after the pool has grown.
    pub(crate) fn buffer(&self) -> Result<Buffer, GpuError> {
        let buffer = self.items.lock().buffer.clone();
        buffer.ok_or_else(|| GpuError::Failed("a pool is read before it is filled".to_owned()))
    }

    fn grow(&self, items: &mut Items, gpu: &Gpu, recording: &mut StepRecording) -> Result<(), GpuError> {
        let item_bytes = 4 * self.n_words as u64;
        let mut used = self.budget.used.lock();
        let own = u64::from(items.n_items) * item_bytes;
        let most = gpu.max_buffer_bytes().min(self.budget.max_bytes.saturating_sub(*used - own));
        let most = u32::try_from(most / item_bytes.max(1)).unwrap_or(u32::MAX);
        let n_items = (2 * items.n_items).max(8).min(most);
        if n_items <= items.n_items {
            return Err(GpuError::OutOfMemory(format!("{} pages or windows of {item_bytes} bytes", items.n_items)));
        }
        let buffer = gpu.buffer(u64::from(n_items) * item_bytes)?;
        *used += u64::from(n_items) * item_bytes - own;
        if let Some(old) = &items.buffer {
            recording.copy_buffer(gpu, old, &buffer);
            recording.forget_bindings();
        }
        items.free.extend((items.n_items..n_items).rev());
        (items.buffer, items.n_items) = (Some(buffer), n_items);
        Ok(())
    }
}
