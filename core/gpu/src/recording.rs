//! What is recorded of a step, until it is computed.
//!
//! Nothing is computed before something is read back, or the step ends. What the host knows of a step (tokens, positions, pages,
//! angles) lies in one table, which is written once for all kernels of the step.

use std::collections::HashMap;

use wgpu::{BindGroup, Buffer, CommandEncoder, ComputePass};

use crate::device::{Gpu, ReadBack};
use crate::error::GpuError;
use crate::kernels::Kernel;
use crate::rows::{GpuRows, Reused};

/// Words of the table at first.
const TABLE_WORDS: usize = 1 << 14;
/// Columns that a workgroup of most kernels takes.
const COLUMNS: usize = 256;

/// A kernel's buffers, with the numbers of their bindings.
pub(crate) type Bindings<'a> = &'a [(u32, &'a Buffer)];

/// What was recorded so far: what steps cost besides computing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordedCounts {
    /// Kernels.
    pub n_kernels: usize,
    /// Times that the host waited for the device.
    pub n_reads: usize,
    /// Bytes that were read back.
    pub n_bytes_read: u64,
}

pub(crate) struct StepRecording {
    encoder: Option<CommandEncoder>,
    pass: Option<ComputePass<'static>>,
    /// What the host knows of the step.
    table: Vec<u32>,
    /// The buffers of the table: kernels that were recorded before it outgrew its buffer read earlier ones.
    tables: Vec<Buffer>,
    /// Bindings that were made before. A step of the same sizes needs no new ones.
    groups: HashMap<(Kernel, Vec<Buffer>), BindGroup>,
    step: u32,
    receipt: Buffer,
    read_back: Option<Buffer>,
    counts: RecordedCounts,
    /// What was read back last, until a kernel is recorded.
    last_read: Option<(Buffer, Vec<f32>)>,
}

impl StepRecording {
    pub(crate) fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        Ok(Self {
            encoder: None,
            pass: None,
            table: Vec::new(),
            tables: vec![gpu.buffer(4 * TABLE_WORDS as u64)?],
            groups: HashMap::new(),
            step: 0,
            receipt: gpu.buffer(4)?,
            read_back: None,
            counts: RecordedCounts::default(),
            last_read: None,
        })
    }

    pub(crate) fn counts(&self) -> RecordedCounts {
        self.counts
    }

    /// Submits what was recorded, and forgets the table.
    pub(crate) fn end(&mut self, gpu: &Gpu) {
        self.submit(gpu);
        self.table.clear();
        let last = self.tables.len() - 1;
        if 0 < last {
            self.tables.drain(..last);
            self.forget_bindings();
        }
    }

    /// Reads some rows. All rows are read back at once, for those who ask for others next.
    pub(crate) fn read_rows(
        &mut self,
        gpu: &Gpu,
        rows: &GpuRows,
        range: std::ops::Range<usize>,
        to: &mut Vec<f32>,
    ) -> Result<(), GpuError> {
        let buffer = rows.values.get()?;
        if self.last_read.as_ref().is_none_or(|(last, _)| last != buffer) {
            let n_bytes = 4 * (rows.n_rows * rows.width) as u64;
            let values = self.read(gpu, buffer, 0, n_bytes)?;
            self.last_read = Some((buffer.clone(), bytemuck::pod_collect_to_vec(&values)));
        }
        if let Some((_, values)) = &self.last_read {
            to.extend_from_slice(&values[range.start * rows.width..range.end * rows.width]);
        }
        Ok(())
    }

    fn encoder(&mut self, gpu: &Gpu) -> &mut CommandEncoder {
        self.pass = None;
        self.encoder
            .get_or_insert_with(|| gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default()))
    }

    /// Records a kernel. Its numbers follow the one that is always 0.
    pub(crate) fn run(
        &mut self,
        gpu: &Gpu,
        kernel: Kernel,
        bindings: Bindings<'_>,
        numbers: &[u32],
        groups: [usize; 3],
    ) {
        if groups.contains(&0) {
            return;
        }
        self.last_read = None;
        self.counts.n_kernels += 1;
        let pipeline = gpu.pipeline(kernel);
        let key = (kernel, bindings.iter().map(|(_, buffer)| (*buffer).clone()).collect());
        let group = self.groups.entry(key).or_insert_with(|| {
            let entries: Vec<_> = bindings
                .iter()
                .map(|&(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
                .collect();
            let layout = &pipeline.get_bind_group_layout(0);
            gpu.device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries })
        });
        let encoder = self
            .encoder
            .get_or_insert_with(|| gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default()));
        let pass = self.pass.get_or_insert_with(|| {
            encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default()).forget_lifetime()
        });
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &*group, &[]);
        let mut all = vec![0];
        all.extend_from_slice(numbers);
        pass.set_immediates(0, bytemuck::cast_slice(&all));
        // Sizes come from shapes that were checked while loading, and from steps of at most some hundred rows.
        let [x, y, z] = groups.map(|n| n as u32);
        pass.dispatch_workgroups(x, y, z);
    }

    /// Records a kernel of which a workgroup takes 256 columns of a row.
    pub(crate) fn run_by_columns(
        &mut self,
        gpu: &Gpu,
        kernel: Kernel,
        bindings: Bindings<'_>,
        numbers: &[u32],
        (n_rows, width): (usize, usize),
    ) {
        self.run(gpu, kernel, bindings, numbers, [n_rows, width.div_ceil(COLUMNS), 1]);
    }

    /// Appends to the step's table; returns where. Everything that a kernel reads is appended before it asks for the
    /// [buffer](Self::table_buffer).
    pub(crate) fn append(&mut self, gpu: &Gpu, words: impl IntoIterator<Item = u32>) -> Result<u32, GpuError> {
        let at = self.table.len();
        self.table.extend(words);
        let n_bytes = 4 * self.table.len() as u64;
        if self.tables.last().is_none_or(|buffer| buffer.size() < n_bytes) {
            self.tables.push(gpu.buffer(n_bytes.next_power_of_two())?);
        }
        u32::try_from(at).map_err(|_| GpuError::OutOfMemory("a step's table".to_owned()))
    }

    pub(crate) fn append_floats(&mut self, gpu: &Gpu, floats: &[f32]) -> Result<u32, GpuError> {
        self.append(gpu, floats.iter().map(|value| value.to_bits()))
    }

    /// The buffer that has the table when the step is computed.
    pub(crate) fn table_buffer(&self) -> Buffer {
        self.tables[self.tables.len() - 1].clone()
    }

    /// Provides memory for words that a kernel fills.
    pub(crate) fn reserve<'a>(
        &mut self,
        gpu: &Gpu,
        memory: &'a mut Reused,
        n_words: usize,
    ) -> Result<&'a Buffer, GpuError> {
        let (buffer, is_new) = memory.reserve(gpu, n_words)?;
        if is_new {
            self.forget_bindings();
        }
        Ok(buffer)
    }

    /// Copies a whole buffer into a larger one.
    pub(crate) fn copy_buffer(&mut self, gpu: &Gpu, from: &Buffer, to: &Buffer) {
        self.encoder(gpu).copy_buffer_to_buffer(from, 0, to, 0, from.size());
    }

    /// Forgets bindings with buffers that were replaced, so that these can be freed.
    pub(crate) fn forget_bindings(&mut self) {
        self.groups.clear();
    }

    pub(crate) fn submit(&mut self, gpu: &Gpu) {
        self.pass = None;
        let Some(encoder) = self.encoder.take() else { return };
        self.write_tables(gpu);
        gpu.queue.submit([encoder.finish()]);
    }

    fn write_tables(&self, gpu: &Gpu) {
        for buffer in &self.tables {
            let n = self.table.len().min((buffer.size() / 4) as usize);
            if 0 < n {
                gpu.queue.write_buffer(buffer, 0, bytemuck::cast_slice(&self.table[..n]));
            }
        }
    }

    pub(crate) fn read(&mut self, gpu: &Gpu, buffer: &Buffer, start: u64, n_bytes: u64) -> Result<Vec<u8>, GpuError> {
        let back = match self.read_back.take().filter(|back| n_bytes + 4 <= back.size()) {
            Some(back) => back,
            None => gpu.read_back_buffer(n_bytes + 4)?,
        };
        let read = self.begin_read(gpu, buffer, (start, n_bytes), back)?;
        let (back, bytes) = read.finish(gpu)?;
        self.read_back = Some(back);
        Ok(bytes)
    }

    /// Submits what was recorded, with a copy of some bytes for the host.
    pub(crate) fn begin_read(
        &mut self,
        gpu: &Gpu,
        buffer: &Buffer,
        (start, n_bytes): (u64, u64),
        back: Buffer,
    ) -> Result<StepRead, GpuError> {
        self.counts.n_reads += 1;
        self.counts.n_bytes_read += n_bytes;
        self.step = self.step.wrapping_add(1);
        let (step, receipt) = (self.step, self.receipt.clone());
        self.run(gpu, Kernel::Receipt, &[(0, &receipt)], &[step], [1, 1, 1]);
        self.write_tables(gpu);
        self.encoder(gpu).copy_buffer_to_buffer(&receipt, 0, &back, 0, 4);
        self.encoder(gpu).copy_buffer_to_buffer(buffer, start, &back, 4, n_bytes);
        let encoder = self.encoder.take().ok_or_else(|| GpuError::Failed("nothing was recorded".to_owned()))?;
        Ok(StepRead { step, n_bytes: n_bytes as usize, read: gpu.begin_read(encoder, back) })
    }
}

/// Bytes that a step leaves to the host.
pub(crate) struct StepRead {
    step: u32,
    n_bytes: usize,
    read: ReadBack,
}

impl StepRead {
    /// Waits for the bytes. Returns them with the memory that they were read from.
    pub(crate) fn finish(self, gpu: &Gpu) -> Result<(Buffer, Vec<u8>), GpuError> {
        let (back, bytes) = gpu.finish_read(self.read)?;
        let found = bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        if found != Some(self.step) {
            return Err(GpuError::Lost("it dropped a step".to_owned()));
        }
        Ok((back, bytes[4..][..self.n_bytes].to_vec()))
    }
}
