//! The table of facts about a model that all languages give. Rust has more, in `ModelInfo`.

/// Calls the macro `$then` with the facts: their names, their types and their values of `info`, a `ModelInfo`, and `memory`, its
/// estimate for the size of the context.
#[doc(hidden)]
#[macro_export]
macro_rules! __model_facts {
    ($then:ident $($header:tt)*) => {
        $then! {
            $($header)*
            |info, memory|
            /// The name that its files give it.
            name: Option<String> = info.name.clone();
            /// The family, by the name in its files.
            architecture: String = info.architecture.clone();
            /// Number of weights, each counted once.
            parameters: u64 = info.n_parameters;
            /// Number of layers of any kind.
            layers: usize = info.n_layers;
            /// Context size that the model was trained for, in tokens.
            context_size: usize = info.context_size;
            /// Number of tokens in its vocabulary.
            vocabulary_size: usize = info.n_vocabulary;
            /// Storage formats of the weights, the one with the most bytes first.
            quantisation: Vec<String> = info.quantisation.iter().map(|share| share.name.clone()).collect();
            /// Whether the chat template supports functions.
            supports_function_calling: bool = info.supports_function_calling;
            /// The notation in which the model writes calls, found from its chat template. It is the default of the options of a
            /// reply.
            function_call_parser: FunctionCallParser = info.function_call_parser;
            /// Whether the chat template supports reasoning.
            supports_reasoning: bool = info.supports_reasoning;
            /// Whether messages can contain images.
            supports_images: bool = info.supports_images;
            /// Whether messages can contain sound.
            supports_audio: bool = info.supports_audio;
            /// Whether the model speaks: its replies may have sound.
            supports_speech: bool = info.supports_speech;
            /// Estimated memory in bytes, with the context size that it was or would be loaded with.
            memory_estimate: u64 = memory.total();
            /// The part of it that the vision tower and its projector take; 0 if the model takes no images.
            vision_memory: u64 = memory.vision;
            /// The part of it that the encoder of sound and its adapter take; 0 if the model has no audio input.
            hearing_memory: u64 = memory.hearing;
            /// The part of it that the parts which speak take; 0 if the model does not speak.
            speech_memory: u64 = memory.speech;
            /// Names in the files of tensors that nothing reads, in order.
            unused_tensors: Vec<String> = info.unused_tensors.clone();
            /// Problems with the tokenizer or chat template that prevent loading, one per entry; empty once loaded.
            problems: Vec<String> = info.problems.clone();
            /// The name of the GPU that computes the loaded model; none on the CPU, and before it is loaded.
            gpu: Option<String> = info.gpu.clone();
            /// How the GPU's results may differ from the CPU's, one per entry; empty if they have the same bits.
            gpu_differences: Vec<String> = info.gpu_differences.clone();
        }
    };
}
