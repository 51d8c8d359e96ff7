//! Loading: from the files of a model to a model in memory.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::checkpoint::{DecisionType, EmbeddingCheckpoint, OptionTemperatures, decision_type, mask_token};
use crate::deep_stack;
use crate::engine::{LoadedModel, OptionDecider};
use crate::error::{ErrorKind, Result, SdkError};
use crate::hearing;
use crate::info::ModelInfo;
use crate::media::Transparency;
use crate::memory::MemoryNeed;
use crate::model::{Compute, EmbeddingModelNetwork, LoadProgress, Model, hearing_bytes, report_progress, vision_bytes};
use crate::options::{Device, LoadOptions};
use crate::packing::{packed_facts, packed_vocabulary, packed_weights};
use crate::projectors::{self, ModelParts, PartFiles};
use crate::prompt::{DecisionPrompts, OptionTokens, PromptRenderer};
use crate::tokenizer::ModelTokenizer;
use crate::vision;
use crate::voice::{self, VoiceFiles};
use crate::weights::{TemplateSources, Weights, decision_template};

/// Stack size in bytes for reading vocabularies and templates, as the main thread has on most systems.
const STACK: usize = 8 << 20;

/// Bytes that a tokenizer takes per token, at least: a low estimate, so that no model that fits is refused. Not measured.
const VOCABULARY_BYTES: u64 = 128;

/// The share of loading that packing weights takes, if it is done.
const PACKING_SHARE: f32 = 0.9;

/// The part of the prefix cache's limit that the rows of images, and the rows of recordings, may take besides.
const CONTENT_SHARE: usize = 8;

/// Tokens that a decision model computes in one step, at most: the memory of a step grows with them. The limit of the reference for
/// models that score options.
const MAX_WHOLE_TOKENS: usize = 16_384;

/// What loading a model does.
///
/// ```
/// use causerie::{LoadOptions, LoadPhase, ModelRunner};
/// use std::ops::ControlFlow;
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
/// let mut last = None;
/// ModelRunner::load_by_phases(model, LoadOptions::default(), |phase, fraction| {
///     println!("{phase:?}: {:.0} %", fraction * 100.0);
///     last = Some(phase);
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(last, Some(LoadPhase::Ready));
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadPhase {
    /// Packed weights are written into the folder of the app.
    Packing,
    /// The weights are read into memory.
    Reading,
    /// Packed weights are mapped.
    Mapping,
    /// The model is loaded.
    Ready,
}

/// Receives the phase and the share that is loaded, from 0 to 1; `Break` cancels loading.
pub(crate) type PhaseProgress<'a> = &'a mut dyn FnMut(LoadPhase, f32) -> ControlFlow<()>;

/// Loads a model. The returned options have the sampling values of its files where none were given.
pub(crate) fn load_model(
    weights: &Weights,
    options: LoadOptions,
    progress: PhaseProgress<'_>,
) -> Result<(LoadedModel, ModelInfo, LoadOptions)> {
    options.check()?;
    let compute = match (options.device, weights.packed()) {
        // Packed weights are for the CPU alone.
        (Device::Auto, Some(_)) => Compute::new(&LoadOptions { device: Device::Cpu, ..options.clone() })?,
        _ => Compute::new(&options)?,
    };
    let mut info = ModelInfo::of_weights(weights)?;
    info.set_cache_type(compute.cache_type());
    let context_size = options.context_size.unwrap_or(LoadOptions::DEFAULT_CONTEXT_SIZE);
    let parts = projectors::find(weights, options.projector.as_deref(), info.hidden_size)?;
    let (decoder, codec) = (options.audio_decoder.as_deref(), options.audio_tokenizer.as_deref());
    let voice_files = voice::find(weights, parts.projector(), decoder, codec)?;
    let mut begin = 0.0;
    let decision_type = decision_type(weights)?;
    let is_silent = matches!(decision_type, Some(DecisionType::Options | DecisionType::WholeLogits));
    let context_size = if is_silent { context_size.min(MAX_WHOLE_TOKENS) } else { context_size };
    let packed = match is_silent {
        true => None,
        false => packed_weights(weights, &options, &compute, &mut |share| {
            begin = share * PACKING_SHARE;
            progress(LoadPhase::Packing, begin)
        })?,
    };
    let is_mapped = packed.as_ref().is_some_and(|packed| packed.is_mapped());
    let phase = if is_mapped { LoadPhase::Mapping } else { LoadPhase::Reading };
    let progress: LoadProgress<'_> = &mut |share| match share {
        1.0 => progress(LoadPhase::Ready, share),
        share => progress(phase, begin + share * (1.0 - begin)),
    };
    if compute.is_cpu() {
        memory_need(&info, is_mapped, &parts, &voice_files).check("the model")?;
    }
    let prepare_text = || {
        let tokenizer = ModelTokenizer::load_packed(weights, packed.as_deref().and_then(packed_vocabulary))?;
        let templates = match &options.chat_template {
            Some(template) => Some(TemplateSources::from(template.clone())),
            None => TemplateSources::read(weights)?,
        };
        let renderer = |sources: TemplateSources| {
            let known = packed.as_deref().map(packed_facts).unwrap_or_default();
            let (renderer, _) = PromptRenderer::from_facts(&sources, &tokenizer, &known)?;
            Ok::<_, SdkError>((renderer, sources.chat))
        };
        let renderer = templates.map(renderer).transpose()?;
        Ok((tokenizer, renderer))
    };
    let load = |progress: LoadProgress<'_>| {
        let (mut whole, mut scorer) = (None, None);
        let model = match decision_type {
            Some(DecisionType::Options) => {
                let network = scorer.insert(load_scorer(weights, &compute, context_size, progress)?);
                Model::silent(network.n_vocabulary(), network.hidden(), network.n_positions())
            }
            Some(DecisionType::WholeLogits) => {
                let decoder = Model::load_whole(weights, compute.clone(), context_size, progress)?;
                let decoder = whole.insert(decoder);
                Model::silent(decoder.n_vocabulary(), decoder.hidden_size(), decoder.context_size())
            }
            Some(DecisionType::Logits) | None => {
                Model::load(weights, packed.clone(), compute.clone(), context_size, progress)?
            }
        };
        let tower = match &parts.vision {
            PartFiles::Found(found, architecture) => {
                let tower = compute.load_vision(found.weights(), architecture)?;
                tower.check_row_size(model.hidden_size())?;
                Some(tower)
            }
            PartFiles::Missing(_) => None,
        };
        let encoder = match &parts.hearing {
            PartFiles::Found(found, architecture) => {
                let encoder = compute.load_hearing(found.weights(), architecture)?;
                encoder.check_row_size(model.hidden_size())?;
                Some(encoder)
            }
            PartFiles::Missing(_) => None,
        };
        let voice = match &voice_files {
            VoiceFiles::Found(found) => Some(compute.load_voice(&found.0, &found.1, model.hidden_size())?),
            VoiceFiles::Missing(reason) => {
                log::warn!("{reason}");
                None
            }
            VoiceFiles::None => None,
        };
        Ok((model, whole, scorer, tower, encoder, voice))
    };
    let ((tokenizer, renderer), (model, whole, scorer, tower, encoder, voice)) =
        load_along(prepare_text, load, progress)?;
    weights.check_unchanged()?;
    if let Some(gpu) = model.gpu() {
        info.set_gpu(gpu);
    }
    info.set_tokenizer(&tokenizer);
    let mut renderer = renderer.map(|(renderer, source)| {
        info.set_template(&source, &renderer);
        renderer
    });
    if let Some(renderer) = &mut renderer {
        let control = tokenizer.control_tokens()?;
        let transparency = match options.ignores_transparency {
            true => Transparency::Ignored,
            false => Transparency::OnWhite,
        };
        let cache_bytes = options.cache_size() / CONTENT_SHARE;
        if vision::attach(&parts.vision, tower, &control, renderer, transparency, cache_bytes)
            && let PartFiles::Found(found, architecture) = &parts.vision
        {
            info.set_vision(found.weights(), architecture);
        }
        if hearing::attach(&parts.hearing, encoder, &control, renderer, cache_bytes)
            && let PartFiles::Found(found, architecture) = &parts.hearing
        {
            info.set_hearing(found.weights(), architecture);
        }
        if let Some(voice) = &voice {
            voice::attach(voice, renderer);
        }
    }
    info.set_voice(&voice_files);
    if model.n_vocabulary() < tokenizer.n_tokens() {
        let (tokens, rows) = (tokenizer.n_tokens(), model.n_vocabulary());
        return Err(SdkError::new(
            ErrorKind::ModelLoad,
            format!("the vocabulary must have at most {rows} tokens, found {tokens}"),
        ));
    }
    let decisions = match decision_type {
        Some(DecisionType::Logits | DecisionType::WholeLogits) => {
            let template = decision_template(weights)?;
            if template.is_none() && decision_type == Some(DecisionType::WholeLogits) {
                let message = "metadata tokenizer.chat_template.systemone is missing: how the questions of this type of decision \
                               model are put is not known otherwise";
                return Err(SdkError::new(ErrorKind::ModelLoad, message));
            }
            let images = renderer.as_ref().map(PromptRenderer::images);
            Some(DecisionPrompts::new(template, &tokenizer, images)?)
        }
        Some(DecisionType::Options) | None => None,
    };
    let decider = scorer.map(|network| {
        let tokens = OptionTokens::find(&tokenizer, mask_token(weights)?)?;
        Ok::<_, SdkError>(OptionDecider { network, tokens, temperatures: OptionTemperatures::read(weights)? })
    });
    let decider = decider.transpose()?;
    let context_size = model.context_size();
    report_progress(progress, 1.0)?;
    let options =
        LoadOptions { generation_defaults: options.generation_defaults.or(weights.sampling_defaults()?), ..options };
    let loaded =
        LoadedModel { decisions, whole, decider, voice, ..LoadedModel::new(model, tokenizer, renderer, context_size) };
    Ok((loaded, info, options))
}

/// The network of a decision model that scores options.
fn load_scorer(
    weights: &Weights,
    compute: &Compute,
    context_size: usize,
    progress: LoadProgress<'_>,
) -> Result<EmbeddingModelNetwork> {
    let mut checkpoint = EmbeddingCheckpoint::read_scorer(weights)?;
    checkpoint.network.limit_context(context_size);
    compute.load_embedding(&checkpoint, progress)
}

/// The least memory that a reply of the model takes on the CPU: its weights, unless they are mapped, the values between operations, a
/// vocabulary, and the stack on which prompts are prepared.
fn memory_need(info: &ModelInfo, is_mapped: bool, parts: &ModelParts<'_>, voice: &VoiceFiles) -> MemoryNeed {
    let tower = match &parts.vision {
        PartFiles::Found(found, _) => vision_bytes(found.weights()),
        PartFiles::Missing(_) => 0,
    };
    let encoder = match &parts.hearing {
        PartFiles::Found(found, _) => hearing_bytes(found.weights()),
        PartFiles::Missing(_) => 0,
    };
    let estimate = info.memory_estimate(1);
    let parts = [tower, encoder, voice.n_bytes()];
    let weights = if is_mapped { 0 } else { estimate.weights };
    let written = parts.into_iter().fold(weights, u64::saturating_add);
    let vocabulary = info.n_vocabulary as u64 * VOCABULARY_BYTES;
    let others = [estimate.working, estimate.key_values, vocabulary, deep_stack::STACK as u64];
    MemoryNeed { written, reserved: others.into_iter().fold(written, u64::saturating_add) }
}

/// Loads a model, and runs `make` on another thread at the same time, because reading a vocabulary takes as long as
/// loading small weights. An error in `make` ends the loading.
fn load_along<T: Send, M>(
    make: impl Fn() -> Result<T> + Send + Sync,
    load: impl FnOnce(LoadProgress<'_>) -> Result<M>,
    progress: LoadProgress<'_>,
) -> Result<(T, M)> {
    let has_failed = AtomicBool::new(false);
    let make = || {
        let panicked = |_| Err(SdkError::new(ErrorKind::Internal, "reading the vocabulary panicked"));
        let made = catch_unwind(AssertUnwindSafe(&make)).unwrap_or_else(panicked);
        made.inspect_err(|_| has_failed.store(true, Ordering::Relaxed))
    };
    let mut is_cancelled = false;
    thread::scope(|scope| {
        let beside = thread::Builder::new().name("causerie-text".to_owned()).stack_size(STACK);
        let beside = beside.spawn_scoped(scope, make);
        let model = load(&mut |share| {
            if has_failed.load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
            let flow = progress(share);
            is_cancelled = flow.is_break();
            flow
        });
        let made = match beside {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => make(), // no thread could be started
        };
        match (made, model) {
            (_, Err(cancelled)) if is_cancelled => Err(cancelled),
            (made, model) => Ok((made?, model?)),
        }
    })
}
