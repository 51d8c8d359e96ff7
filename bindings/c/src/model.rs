//! Models, and facts about them.

use std::ffi::{c_char, c_void};
use std::ops::ControlFlow;

use causerie::testing::ScriptedModel;
use causerie::{LoadOptions, ModelInfo, ModelRunner, Prompt};

use crate::border::{Bytes, Flag, Out, Text};
use crate::fault::{Fault, Status};
use crate::handles::Handle;
use crate::options::{Options, chosen};
use crate::stream::Reply;

/// Reports the progress of loading, from 0 to 1, on the thread that loads. Returning false cancels it.
type Progress = extern "C" fn(fraction: f32, context: *mut c_void) -> Flag;

/// Facts about a model, with the context size that it was or would be loaded with.
pub(crate) struct Facts {
    info: ModelInfo,
    context_size: usize,
    /// Why the model is not computed on the GPU that its options ask for.
    device_note: Option<String>,
}

impl Facts {
    /// Also `None` for a number that names no fact.
    fn string(&self, fact: i32) -> Option<String> {
        match fact {
            0 => self.info.name.clone(),
            1 => Some(self.info.architecture.clone()),
            2 => self.info.quantisation.first().map(|share| share.name.clone()),
            3 => self.info.function_call_parser.names().first().map(|name| (*name).to_owned()),
            4 => self.info.problems.first().cloned(),
            5 => self.info.gpu.clone(),
            6 => self.device_note.clone(),
            _ => None,
        }
    }

    fn number(&self, fact: i32) -> Option<u64> {
        let info = &self.info;
        Some(match fact {
            0 => info.n_parameters,
            1 => info.n_layers as u64, // a usize has at most 64 bits
            2 => self.context_size as u64,
            3 => info.context_size as u64,
            4 => info.n_vocabulary as u64,
            5 => info.memory_estimate(self.context_size).total(),
            6 => info.supports_function_calling.into(),
            7 => info.supports_reasoning.into(),
            8 => info.supports_images.into(),
            9 => info.supports_audio.into(),
            10 => info.supports_speech.into(),
            _ => return None,
        })
    }
}

exports! {
    fn causerie_model_load(
        path: Text,
        options: Handle<Options>,
        progress: Option<Progress>,
        context: *mut c_void,
        model: Out<Handle<ModelRunner>>,
    ) {
        model.check("model")?;
        let runner = ModelRunner::load_watched(path.read("path")?, chosen(options)?.loading, |fraction| {
            match progress.is_none_or(|progress| progress(fraction, context).is_set()) {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        model.write(Handle::new(runner), "model")?;
    }

    fn causerie_model_load_bytes(
        data: Bytes,
        length: usize,
        options: Handle<Options>,
        model: Out<Handle<ModelRunner>>,
    ) {
        model.check("model")?;
        let data = data.read(length, "data")?.to_vec();
        let runner = ModelRunner::load_from_bytes(data, chosen(options)?.loading)?;
        model.write(Handle::new(runner), "model")?;
    }

    fn causerie_model_load_scripted(script: Text, model: Out<Handle<ModelRunner>>) {
        model.check("model")?;
        let runner = ScriptedModel::from_json(script.read("script")?)?.load()?;
        model.write(Handle::new(runner), "model")?;
    }

    fn causerie_model_count_tokens(model: Handle<ModelRunner>, text: Text, count: Out<usize>) {
        let tokens = model.get("model")?.tokenize(text.read("text")?)?;
        count.write(tokens.len(), "count")?;
    }

    fn causerie_model_complete(
        model: Handle<ModelRunner>,
        prompt: Text,
        options: Handle<Options>,
        stream: Out<Handle<Reply>>,
    ) {
        stream.check("stream")?;
        let prompt = Prompt::from(prompt.read("prompt")?);
        let reply = model.get("model")?.complete(prompt, chosen(options)?.generation);
        stream.write(Handle::new(Reply::new(reply)), "stream")?;
    }

    fn causerie_model_unload(model: Handle<ModelRunner>) {
        pollster::block_on(model.get("model")?.unload());
    }

    fn causerie_model_free(model: Handle<ModelRunner>) {
        model.free("model")?;
    }

    fn causerie_model_info(model: Handle<ModelRunner>, info: Out<Handle<Facts>>) {
        info.check("info")?;
        let runner = model.get("model")?;
        let (context_size, device_note) = (runner.context_size(), runner.device_note());
        let facts = Facts { info: runner.info().clone(), context_size, device_note };
        info.write(Handle::new(facts), "info")?;
    }

    fn causerie_info_read(path: Text, info: Out<Handle<Facts>>) {
        info.check("info")?;
        let facts = ModelInfo::read(path.read("path")?)?;
        let context_size = facts.context_size.min(LoadOptions::DEFAULT_CONTEXT_SIZE);
        info.write(Handle::new(Facts { info: facts, context_size, device_note: None }), "info")?;
    }

    fn causerie_info_string(info: Handle<Facts>, fact: i32, value: Out<*const c_char>) {
        let none = || Fault::new(Status::NotAvailable, format!("the model has no string {fact}"));
        value.give(&info.get("info")?.string(fact).ok_or_else(none)?, "value")?;
    }

    fn causerie_info_number(info: Handle<Facts>, fact: i32, value: Out<u64>) {
        let none = || Fault::new(Status::NotAvailable, format!("the model has no number {fact}"));
        value.write(info.get("info")?.number(fact).ok_or_else(none)?, "value")?;
    }

    fn causerie_info_free(info: Handle<Facts>) {
        info.free("info")?;
    }
}
