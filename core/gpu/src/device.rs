//! An opened device: its memory, its pipelines, and its faults.

use std::collections::HashMap;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use wgpu::{Buffer, BufferUsages, ComputePipeline, Features, Limits, PollType, ShaderSource};

use crate::adapters::{GpuAdapter, GpuKind};
use crate::error::GpuError;
use crate::kernels::{Kernel, MultiplyAdd};
use crate::probe::{ArithmeticReport, RESULTS, ROWS, numbers};

/// Bytes of the numbers that a kernel is given when it runs.
const IMMEDIATE_BYTES: u32 = 64;

/// Buffers of the kernel that has most; where a device takes fewer, kernels with fewer compute the same.
const MAX_BINDINGS: u32 = 16;

/// A device that computes. All models of a process share it.
pub struct Gpu {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    name: String,
    kind: GpuKind,
    max_buffer_bytes: u64,
    max_bindings: usize,
    /// The first fault; nothing that is computed after it counts.
    fault: Arc<Mutex<Option<GpuError>>>,
    pipelines: Mutex<HashMap<Kernel, ComputePipeline>>,
    multiply_add: MultiplyAdd,
    arithmetic: ArithmeticReport,
}

/// Memory that the host reads once the commands that fill it are done.
pub(crate) struct ReadBack {
    back: Buffer,
    submission: wgpu::SubmissionIndex,
    mapped: Receiver<Result<(), wgpu::BufferAsyncError>>,
}

/// The devices that are open, by name.
static OPEN: Mutex<Vec<Weak<Gpu>>> = Mutex::new(Vec::new());

impl Gpu {
    /// Opens a device, or returns it if it is open and has no fault.
    ///
    /// # Errors
    /// A device without what all kernels need, or a driver that refuses.
    pub fn open(adapter: &GpuAdapter) -> Result<Arc<Self>, GpuError> {
        let mut open = OPEN.lock();
        let mut known = open.iter().filter_map(Weak::upgrade);
        if let Some(gpu) = known.find(|gpu| gpu.name == adapter.name && gpu.check().is_ok()) {
            return Ok(gpu);
        }
        let gpu = Arc::new(Self::new(adapter)?);
        open.retain(|gpu| 0 < gpu.strong_count());
        open.push(Arc::downgrade(&gpu));
        Ok(gpu)
    }

    /// Opens a device that nothing else shares.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn new(adapter: &GpuAdapter) -> Result<Self, GpuError> {
        let GpuAdapter { adapter, name, kind, .. } = adapter;
        let (found, features) = (adapter.limits(), adapter.features());
        let mut limits = Limits { max_immediate_size: IMMEDIATE_BYTES, ..Limits::default() };
        limits.max_storage_buffer_binding_size = found.max_storage_buffer_binding_size;
        limits.max_buffer_size = found.max_buffer_size;
        limits.min_storage_buffer_offset_alignment = found.min_storage_buffer_offset_alignment;
        limits.max_storage_buffers_per_shader_stage = found.max_storage_buffers_per_shader_stage.min(MAX_BINDINGS);
        let mut problem = None;
        limits.check_limits_with_fail_fn(&found, false, |limit, needed, has| {
            problem.get_or_insert_with(|| format!("{limit} must be at least {needed}, found {has}"));
        });
        if !features.contains(Features::IMMEDIATES) {
            problem.get_or_insert_with(|| "it must take immediate values".to_owned());
        }
        if !adapter.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::SHADER_F16_IN_F32) {
            problem.get_or_insert_with(|| "its shaders must read f16".to_owned());
        }
        if let Some(problem) = problem {
            return Err(GpuError::Unsuitable(format!("{name}: {problem}")));
        }
        let wide = if *kind == GpuKind::Software { features & Features::SHADER_F64 } else { Features::empty() };
        let max_buffer_bytes = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size);
        let max_bindings = limits.max_storage_buffers_per_shader_stage as usize;
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("causerie"),
            required_features: Features::IMMEDIATES | wide,
            required_limits: limits,
            // Without it, an allocator takes large blocks ahead.
            memory_hints: wgpu::MemoryHints::MemoryUsage,
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|err| GpuError::Failed(format!("{name}: {err}")))?;
        let fault = Arc::new(Mutex::new(None));
        // Without a handler, wgpu panics.
        let faults = Arc::clone(&fault);
        device.on_uncaptured_error(Arc::new(move |err: wgpu::Error| note(&faults, err.into())));
        let faults = Arc::clone(&fault);
        device.set_device_lost_callback(move |_, text| note(&faults, GpuError::Lost(text)));
        let mut gpu = Self {
            device,
            queue,
            name: name.clone(),
            kind: *kind,
            max_buffer_bytes,
            max_bindings,
            fault,
            pipelines: Mutex::default(),
            multiply_add: MultiplyAdd::Fused,
            arithmetic: ArithmeticReport::default(),
        };
        gpu.arithmetic = gpu.probe()?;
        if !gpu.arithmetic.fuses && !wide.is_empty() {
            gpu.multiply_add = MultiplyAdd::Wide;
            gpu.pipelines.lock().clear();
            gpu.arithmetic = gpu.probe()?;
        }
        Ok(gpu)
    }

    /// Tries the device's arithmetic.
    fn probe(&self) -> Result<ArithmeticReport, GpuError> {
        let numbers = numbers();
        let n_bytes = 4 * (RESULTS * ROWS) as u64;
        let (from, to, back) = (self.upload(&numbers)?, self.buffer(n_bytes)?, self.read_back_buffer(n_bytes)?);
        let pipeline = self.pipeline(Kernel::Probe);
        let entries = [&from, &to].map(|buffer| buffer.as_entire_binding());
        let entries: Vec<_> =
            (0..).zip(entries).map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource }).collect();
        let layout = &pipeline.get_bind_group_layout(0);
        let group =
            self.device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries });
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.set_immediates(0, &[0; 4]);
            pass.dispatch_workgroups((ROWS / 64) as u32, 1, 1);
        }
        encoder.copy_buffer_to_buffer(&to, 0, &back, 0, n_bytes);
        let results: Vec<f32> = bytemuck::pod_collect_to_vec(&self.finish_read(self.begin_read(encoder, back))?.1);
        Ok(ArithmeticReport::from_results(&numbers, &results))
    }

    /// The device's name, as its driver gives it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the device is.
    pub fn kind(&self) -> GpuKind {
        self.kind
    }

    /// What the device's arithmetic has in common with the CPU's.
    pub fn arithmetic(&self) -> &ArithmeticReport {
        &self.arithmetic
    }

    /// What differs from the CPU's arithmetic, in words. If nothing does, results have the bits of the CPU's kernels.
    pub fn differences(&self) -> Vec<&'static str> {
        self.arithmetic.differences(self.multiply_add == MultiplyAdd::Wide)
    }

    /// How this device multiplies and adds with one rounding.
    pub fn multiply_add(&self) -> MultiplyAdd {
        self.multiply_add
    }

    /// Bytes of the largest buffer that a kernel can read.
    pub fn max_buffer_bytes(&self) -> u64 {
        self.max_buffer_bytes
    }

    /// Buffers that a kernel can have.
    pub(crate) fn max_bindings(&self) -> usize {
        self.max_bindings
    }

    /// # Errors
    /// The first fault of the device.
    pub fn check(&self) -> Result<(), GpuError> {
        self.fault.lock().clone().map_or(Ok(()), Err)
    }

    /// Gives the device up, and its memory: all that is asked of it afterwards fails with [`GpuError::Lost`].
    pub fn give_up(&self) {
        note(&self.fault, GpuError::Lost("it was given up".to_owned()));
        self.device.destroy();
    }

    /// Allocates memory, which is zero.
    pub(crate) fn buffer(&self, n_bytes: u64) -> Result<Buffer, GpuError> {
        let size = n_bytes.next_multiple_of(16).max(16);
        if self.max_buffer_bytes < size {
            return Err(GpuError::OutOfMemory(format!(
                "a buffer must have at most {} bytes, found {size}",
                self.max_buffer_bytes
            )));
        }
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        self.checked_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    }

    fn checked_buffer(&self, descriptor: &wgpu::BufferDescriptor<'_>) -> Result<Buffer, GpuError> {
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let buffer = self.device.create_buffer(descriptor);
        match pollster::block_on(scope.pop()) {
            Some(err) => Err(err.into()),
            None => self.check().map(|()| buffer),
        }
    }

    /// Allocates memory with these values.
    pub(crate) fn upload<T: bytemuck::Pod>(&self, values: &[T]) -> Result<Buffer, GpuError> {
        let buffer = self.buffer(size_of_val(values) as u64)?;
        self.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(values));
        Ok(buffer)
    }

    /// The pipeline of a kernel, made when it is first asked for. There is one for all threads, because bindings belong to a pipeline.
    pub(crate) fn pipeline(&self, kernel: Kernel) -> ComputePipeline {
        self.pipelines.lock().entry(kernel).or_insert_with(|| self.compiled(kernel)).clone()
    }

    fn compiled(&self, kernel: Kernel) -> ComputePipeline {
        let source = ShaderSource::Wgsl(kernel.source(self.multiply_add).into());
        let descriptor = wgpu::ShaderModuleDescriptor { label: None, source };
        let checks = wgpu::ShaderRuntimeChecks::unchecked();
        // SAFETY: the text is ours alone; its loops end, and it reads and writes within its buffers for the sizes that
        // `operations` gives.
        #[allow(unsafe_code, reason = "wgpu's checks cost a third of the speed")]
        let module = unsafe { self.device.create_shader_module_trusted(descriptor, checks) };
        self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: None,
            compilation_options: wgpu::PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false,
                ..wgpu::PipelineCompilationOptions::default()
            },
            cache: None,
        })
    }

    /// Submits commands that fill memory which the host reads.
    pub(crate) fn begin_read(&self, encoder: wgpu::CommandEncoder, back: Buffer) -> ReadBack {
        let submission = self.queue.submit([encoder.finish()]);
        let (sender, mapped) = std::sync::mpsc::channel();
        back.slice(..).map_async(wgpu::MapMode::Read, move |result| drop(sender.send(result)));
        ReadBack { back, submission, mapped }
    }

    /// Reads that memory once the commands are done. Returns it with its bytes.
    pub(crate) fn finish_read(&self, read: ReadBack) -> Result<(Buffer, Vec<u8>), GpuError> {
        let ReadBack { back, submission, mapped } = read;
        let wait = PollType::Wait { submission_index: Some(submission), timeout: None };
        self.device.poll(wait).map_err(|err| GpuError::Lost(err.to_string()))?;
        self.check()?;
        let failed = |text: String| GpuError::Failed(format!("memory cannot be read back: {text}"));
        // Another thread that waits for this device may be the one that calls back.
        match mapped.recv() {
            Ok(Ok(())) => {}
            Ok(Err(err)) => return Err(failed(err.to_string())),
            Err(err) => return Err(failed(err.to_string())),
        }
        let bytes = back.slice(..).get_mapped_range().map_err(|err| failed(err.to_string()))?.to_vec();
        back.unmap();
        Ok((back, bytes))
    }

    /// Memory that the CPU can read.
    pub(crate) fn read_back_buffer(&self, n_bytes: u64) -> Result<Buffer, GpuError> {
        let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
        let size = n_bytes.next_multiple_of(16).max(16);
        self.checked_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    }
}

/// Keeps the first fault.
fn note(faults: &Mutex<Option<GpuError>>, fault: GpuError) {
    faults.lock().get_or_insert(fault);
}
