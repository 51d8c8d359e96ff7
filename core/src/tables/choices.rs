//! The tables of choices: types of options whose values have names. They are used as the tables of options (`options.rs`) are.

/// Calls the macro `$then` with the choices of options. A choice has a variant and its name in options.
#[doc(hidden)]
#[macro_export]
macro_rules! __choices {
    ($then:ident $($header:tt)*) => {
        $then! {
            $($header)*
            /// How calls are handled that can be read only after a repair.
            ///
            /// ```
            /// use causerie::{FunctionCallParser, Parsed, Piece, ReplyEnd, ReplyParser, Strictness};
            ///
            /// let parser = ReplyParser::new(Some(FunctionCallParser::DefaultFunctionCallParser));
            /// let mut parser = parser.strictness(Strictness::Strict);
            /// let mut parsed = Vec::new();
            /// // The brackets around the list of calls are missing.
            /// for piece in [Piece::Control("<|tool_call_start|>"), Piece::Text("now()"), Piece::Control("<|tool_call_end|>")] {
            ///     parser.push(piece, &mut |event| parsed.push(event));
            /// }
            /// parser.finish(ReplyEnd::Ended, &mut |event| parsed.push(event));
            /// assert!(parsed.iter().any(|event| matches!(event, Parsed::Rejected(_))));
            /// ```
            Strictness {
                /// They are delivered, with a list of the repairs.
                #[default]
                Recover = "recover",
                /// They are rejected, with the repaired call as candidate.
                Strict = "strict",
            }

            /// Whether calls are constrained to the declared functions during generation.
            ///
            /// ```
            /// use causerie::{GenerationOptions, ToolCallConstraint};
            ///
            /// let options = GenerationOptions { tool_call_constraint: ToolCallConstraint::Typed, ..Default::default() };
            /// # assert!(options.check().is_ok());
            /// ```
            ToolCallConstraint {
                /// Calls are not constrained, but validated afterwards. A required call is constrained all the same.
                #[default]
                Off = "off",
                /// Once the model begins a block of calls, it can only write calls of declared functions, with arguments of the
                /// declared names and types. Each argument is written once, the required ones always. The content of strings is free.
                /// If no allowed token can be generated, the reply ends with the reason `Constraint`.
                Typed = "typed",
            }

            /// What remains of a cancelled reply in the history. A reply cancelled in the request queue leaves nothing.
            ///
            /// ```
            /// use causerie::{GenerationOptions, OnCancel};
            ///
            /// // A reply that the user stops leaves the history as it was before the request.
            /// let options = GenerationOptions { on_cancel: OnCancel::DropTurn, ..Default::default() };
            /// # assert!(options.check().is_ok());
            /// ```
            OnCancel {
                /// Keeps the text so far, if any, marked as incomplete.
                #[default]
                KeepPartial = "keep_partial",
                /// Keeps the user's message, drops the reply.
                DropPartial = "drop_partial",
                /// Drops the reply and the message that it answers.
                DropTurn = "drop_turn",
            }

            /// How a conversation handles a request while it is generating another reply.
            ///
            /// ```
            /// use causerie::{GenerationOptions, OnBusy};
            ///
            /// let queued = GenerationOptions { on_busy: OnBusy::Queue, ..Default::default() };
            /// # assert!(queued.check().is_ok());
            /// ```
            OnBusy {
                /// Fails with the error `Busy`.
                #[default]
                Error = "error",
                /// Puts the request in a queue, in the order of the first pulls of the streams, and answers it when the earlier
                /// replies have ended.
                Queue = "queue",
                /// Cancels all earlier requests, and answers this one when they have ended.
                Replace = "replace",
            }

            /// Whether, and in which order, a model that speaks gives text and sound.
            ///
            /// ```
            /// use causerie::{GenerationOptions, SpeechMode};
            ///
            /// let options = GenerationOptions { speech_mode: SpeechMode::Interleaved, ..Default::default() };
            /// # assert!(options.check().is_ok());
            /// ```
            SpeechMode {
                /// As the system prompt asks: interleaved after `Respond with interleaved text and audio.`, sequential otherwise.
                #[default]
                Auto = "auto",
                /// Text alone.
                Off = "off",
                /// Text, until the model begins to speak: to read a text aloud, or to answer in text.
                Sequential = "sequential",
                /// A few words and their sound in turn: to talk.
                Interleaved = "interleaved",
            }

            /// A voice in which published models read a text aloud: the prompt asks for it.
            ///
            /// ```
            /// use causerie::SpeechVoice;
            /// assert_eq!(SpeechVoice::named("uk_female"), Some(SpeechVoice::UkFemale));
            /// assert_eq!(SpeechVoice::default().name(), "us_female");
            /// ```
            SpeechVoice {
                /// American English.
                UsMale = "us_male",
                /// American English.
                #[default]
                UsFemale = "us_female",
                /// British English.
                UkMale = "uk_male",
                /// British English.
                UkFemale = "uk_female",
            }

            /// The device that a model is computed on.
            ///
            /// ```
            /// use causerie::{Device, LoadOptions};
            ///
            /// let options = LoadOptions { device: Device::Auto, ..Default::default() };
            /// # assert!(options.check().is_ok());
            /// ```
            Device {
                /// The CPU.
                #[default]
                Cpu = "cpu",
                /// A GPU, by Vulkan, Metal or DX12; pictures and sound are still computed on the CPU. Requires a build with the
                /// feature `gpu`; in other builds, loading fails with the error `InvalidOption`, and so it does without a GPU.
                /// docs/gpu.md says what was tried on what.
                Gpu = "gpu",
                /// A GPU if there is one that computes the model and has memory for it, otherwise the CPU; the choice is logged. On
                /// phones and in builds without the feature `gpu`, the CPU.
                Auto = "auto",
                /// As `Gpu`, by an earlier name. In builds with the feature `metal` and without `gpu`, the GPU of an Apple device by
                /// candle's tensors.
                Metal = "metal",
            }

            /// The storage format of keys and values.
            ///
            /// ```
            /// use causerie::{CacheType, LoadOptions};
            ///
            /// let exact = LoadOptions { cache_type: CacheType::F32, ..Default::default() };
            /// # assert!(exact.check().is_ok());
            /// ```
            CacheType {
                /// Half the memory and traffic of F32; other engines use it too.
                #[default]
                F16 = "f16",
                /// For comparisons with references to the last digit.
                F32 = "f32",
                /// Bytes with a scale for each 32 values of a head: little more than half of F16, for long contexts. It is coarser;
                /// how much a model loses by it has to be measured.
                Q8_0 = "q8_0",
            }

            /// How packed weights come into memory: the ones in the folder of the load options, or in a bundle that was made with
            /// them. Weights that are not packed are always converted into memory. Default: mapped on iOS and Android, `Auto`
            /// elsewhere.
            ///
            /// ```
            /// use causerie::{LoadOptions, WeightMemory};
            ///
            /// let options = LoadOptions {
            ///     packed_folder: Some("cache/packed".into()),
            ///     weight_memory: WeightMemory::Mapped,
            ///     ..Default::default()
            /// };
            /// # assert!(options.check().is_ok());
            /// ```
            WeightMemory {
                /// They stay in the file, which is mapped: loading copies nothing, the memory counts as the system's, and processes
                /// share it. If another program truncates the file, the process ends on Unix; docs/packed-weights.md says more.
                #[cfg_attr(any(target_os = "ios", target_os = "android"), default)]
                Mapped = "mapped",
                /// They are read into memory of the process, and the file is not used any more.
                Copied = "copied",
                /// They are mapped, and copied to large pages while no reply runs, if there is enough free memory: replies are written
                /// faster from these.
                #[cfg_attr(not(any(target_os = "ios", target_os = "android")), default)]
                Auto = "auto",
            }
        }
    };
}

/// Calls the macro `$then` with the rules for names of functions, which the definitions of functions use as well.
#[doc(hidden)]
#[macro_export]
macro_rules! __function_names {
    ($then:ident $($header:tt)*) => {
        $then! {
            $($header)*
            /// Which names functions may have. Identifiers are recommended, which are letters, digits and `_` without a digit in front:
            /// models write them best.
            ///
            /// ```
            /// use causerie::{FunctionNames, LoadOptions, SdkFunction};
            /// let options = LoadOptions { function_names: FunctionNames::Dotted, ..Default::default() };
            /// let function = SdkFunction::new("calendar.create_event", "Create an event.", vec![]);
            /// assert!(function.check_with(options.function_names).is_ok() && function.check().is_err());
            /// ```
            FunctionNames {
                /// Letters, digits, `_` and `-`, at most 200: `create_event`, `get-weather`, `21st_magic_builder`.
                #[default]
                Plain = "plain",
                /// Also several such names joined by dots: `calendar.create_event`.
                Dotted = "dotted",
            }
        }
    };
}
