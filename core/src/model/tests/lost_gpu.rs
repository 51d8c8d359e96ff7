//! A model whose GPU fails goes on on the CPU with the same bits.

use std::sync::Arc;

use causerie_gpu::Gpu;

use super::gpu::own_device;
use super::same_bits::{bits, ids, step};
use super::*;
use crate::model::compute::DecoderGpu;
use crate::model::native::Native;
use crate::model::network::WantedChoice;
use crate::model::pass::DecoderState;

const FILE: &str = "lfm2-q4_0.gguf";

fn on_gpu(gpu: &Arc<Gpu>, may_leave: bool, max_bytes: Option<u64>) -> Result<Model> {
    load_on_gpu(gpu, FILE, may_leave, max_bytes)
}

fn load_on_gpu(gpu: &Arc<Gpu>, file: &str, may_leave: bool, max_bytes: Option<u64>) -> Result<Model> {
    let compute = Compute::on_gpu(DecoderGpu { gpu: Arc::clone(gpu), may_leave, max_bytes }, 1, CacheType::F16);
    let weights = Weights::open(fixture(file).to_str().unwrap()).unwrap();
    Model::load(&weights, None, compute, CONTEXT, &mut |_| ControlFlow::Continue(()))
}

fn outcome(model: &Model, ids: &[u32], state: &mut Box<dyn SequenceState>) -> ForwardOutcome {
    model.forward(&mut [step(ids, state, &mut Vec::new(), 1)]).pop().unwrap().unwrap()
}

/// The outcome of a step once the CPU's decoder is loaded, if it is asked for.
fn outcome_after_moving(model: &Model, ids: &[u32], state: &mut Box<dyn SequenceState>) -> ForwardOutcome {
    loop {
        match outcome(model, ids, state) {
            ForwardOutcome::NotYet => assert!(model.network.wait()),
            ForwardOutcome::Full => model.leave_full(),
            outcome => return outcome,
        }
    }
}

/// The logits on the CPU after a token that follows these.
fn expected(before: &[u32], token: u32) -> Vec<u32> {
    let cpu = load_with(FILE, native(CacheType::F16));
    let mut state = cpu.start().unwrap();
    read(&cpu, before, &mut state);
    bits(&read(&cpu, &[token], &mut state))
}

#[test]
fn after_a_device_is_lost_all_positions_are_computed_again_on_the_cpu() {
    let Some(gpu) = own_device() else { return };
    let model = on_gpu(&gpu, false, None).unwrap();
    let mut state = model.start().unwrap();
    read(&model, &ids(61, 6), &mut state);
    let (snapshot, mut other) = (state.clone(), state.clone());
    assert_eq!((model.device_note(), model.gpu().is_some()), (None, true));
    gpu.give_up();
    assert_eq!(outcome_after_moving(&model, &[5], &mut state), ForwardOutcome::Moved);
    assert!(model.adopt(snapshot).is_none());
    let note = model.device_note().unwrap();
    assert!(note.contains("lost") && model.gpu().is_none(), "{note}");
    let mut again = model.start().unwrap();
    read(&model, &ids(61, 6), &mut again);
    // A step with a state that nobody took over leaves the others alone.
    let (mut lost, mut not_yet) = (Vec::new(), Vec::new());
    let mut steps = [step(&[5], &mut other, &mut lost, 1), step(&[5], &mut again, &mut not_yet, 1)];
    let outcomes: Vec<_> = model.forward(&mut steps).into_iter().map(Result::unwrap).collect();
    assert_eq!(outcomes, [ForwardOutcome::Moved, ForwardOutcome::NotYet]);
    assert_eq!(bits(&read(&model, &[5], &mut again)), expected(&ids(61, 6), 5));
    assert!(model.adopt(again).is_some());
    let mut logits = Vec::new();
    model.forward_alone(Inputs::Tokens(&[5]), &mut logits).unwrap();
    assert_eq!(bits(&logits), expected_alone());
}

fn expected_alone() -> Vec<u32> {
    let cpu = load_with(FILE, native(CacheType::F16));
    bits(&read(&cpu, &[5], &mut cpu.start().unwrap()))
}

#[test]
fn a_sequence_that_is_computed_alone_begins_again_on_the_cpu() {
    let Some(gpu) = own_device() else { return };
    let model = on_gpu(&gpu, false, None).unwrap();
    gpu.give_up();
    let mut logits = Vec::new();
    model.forward_alone(Inputs::Tokens(&[5]), &mut logits).unwrap();
    assert_eq!(bits(&logits), expected_alone());
}

#[test]
fn states_of_a_device_without_memory_are_read_back() {
    let Some(gpu) = own_device() else { return };
    let model = on_gpu(&gpu, false, Some(least_bytes(&gpu, FILE) + (1 << 17))).unwrap();
    let mut states = Vec::new();
    loop {
        let mut state = model.start().unwrap();
        match outcome(&model, &ids(60, 6), &mut state) {
            ForwardOutcome::Done => {}
            ForwardOutcome::Full => break,
            outcome => panic!("{outcome:?}"),
        }
        states.push(state);
        assert!(states.len() < 1000, "the limit does nothing");
    }
    // A clone would need pages of its own. Nothing is lost, and with other states dropped, there is room.
    let mut clone = states[0].clone();
    assert_eq!(outcome(&model, &[5], &mut clone), ForwardOutcome::Full);
    drop(states.pop());
    let mut logits = Vec::new();
    assert_eq!(model.forward(&mut [step(&[5], &mut clone, &mut logits, 1)])[0].clone().unwrap(), ForwardOutcome::Done);
    assert_eq!(bits(&logits), expected(&ids(60, 6), 5));
    assert_eq!(model.device_note(), None);
    assert_eq!(outcome_after_moving(&model, &ids(500, 6), &mut clone), ForwardOutcome::Moved);
    let note = model.device_note().unwrap();
    assert!(note.contains("memory") && !states.is_empty(), "{note}, {} states", states.len());
    for state in states {
        let mut adopted = model.adopt(state).unwrap();
        assert_eq!(bits(&read(&model, &[5], &mut adopted)), expected(&ids(60, 6), 5));
    }
}

#[test]
fn steps_that_are_begun_ahead_take_no_memory_twice() {
    let Some(gpu) = own_device() else { return };
    let max_bytes = Some(least_bytes(&gpu, FILE) + (1 << 16));
    // The tokens after a prompt for which there is memory.
    let n_fitting = |chooses: bool| {
        let model = on_gpu(&gpu, false, max_bytes).unwrap();
        let mut state = model.start().unwrap();
        assert_eq!(outcome(&model, &ids(30, 6), &mut state), ForwardOutcome::Done);
        (0..2000)
            .take_while(|_| {
                let (mut logits, mut chosen) = (Vec::new(), None);
                let wanted = WantedChoice { n_tokens: 300, chosen: &mut chosen, goes_on: true };
                // Each token is the one before, so that some steps are the ones that were begun, and others are not.
                let mut wants = step(&[5], &mut state, &mut logits, 1);
                wants.choice = chooses.then_some(wanted);
                model.forward(&mut [wants]).pop().unwrap().unwrap() == ForwardOutcome::Done
            })
            .count()
    };
    let n_read = n_fitting(false);
    assert!((1..2000).contains(&n_read), "{n_read}");
    assert_eq!(n_fitting(true), n_read);
}

#[test]
fn a_state_that_a_failed_step_left_half_changed_is_neither_saved_nor_cut() {
    let cpu = load_with("gemma3-q8_0.gguf", native(CacheType::F16));
    let mut state = cpu.start().unwrap();
    read(&cpu, &ids(20, 6), &mut state);
    assert!(state.save().unwrap().is_some() && state.cut(10).is_some() && !state.is_spoiled());
    (&mut *state as &mut dyn std::any::Any).downcast_mut::<DecoderState<Native>>().unwrap().spoil();
    assert!(state.save().unwrap().is_none() && state.cut(10).is_none() && state.is_spoiled());
}

/// The memory that the model takes with a short sequence.
pub(crate) fn least_bytes(gpu: &Arc<Gpu>, file: &str) -> u64 {
    match load_on_gpu(gpu, file, false, Some(0)).err().unwrap().kind() {
        ErrorKind::OutOfMemory { needed, available: 0 } => needed,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_model_beyond_its_limit_is_refused_or_computed_on_the_cpu() {
    let Some(gpu) = own_device() else { return };
    let needed = least_bytes(&gpu, FILE);
    assert!(on_gpu(&gpu, false, Some(needed - 1)).is_err());
    let model = on_gpu(&gpu, true, Some(needed - 1)).unwrap();
    let note = model.device_note().unwrap();
    assert!(note.contains("gpu_bytes") && note.contains(&needed.to_string()), "{note}");
    assert!(model.gpu().is_none());
    let mut state = model.start().unwrap();
    read(&model, &ids(61, 6), &mut state);
    assert_eq!(bits(&read(&model, &[5], &mut state)), expected(&ids(61, 6), 5));
    assert!(on_gpu(&gpu, true, Some(needed)).unwrap().gpu().is_some());
}
