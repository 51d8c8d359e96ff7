import Testing

@testable import Causerie

extension GenerationOptions {
    /// Returns these options, changed by the options of a scenario.
    func changed(by entries: JsonValue?) throws -> Self {
        guard case .object(let entries)? = entries else { return self }
        var options = self
        for (name, value) in entries {
            switch name {
            case "temperature": options.temperature = try value.float
            case "top_p": options.topP = try value.float
            case "top_k": options.topK = try value.count
            case "min_p": options.minP = try value.float
            case "repetition_penalty": options.repetitionPenalty = try value.float
            case "presence_penalty": options.presencePenalty = try value.float
            case "frequency_penalty": options.frequencyPenalty = try value.float
            case "logprobs": options.logprobs = try value.count
            case "rng_seed": options.rngSeed = UInt64(try value.count)
            case "max_tokens": options.maxTokens = try value.count
            case "stop_sequences": options.stopSequences = try #require(value.items).compactMap(\.string)
            case "offered_functions": options.offeredFunctions = try #require(value.items).compactMap(\.string)
            case "max_offered_functions": options.maxOfferedFunctions = try value.count
            case "allowed_tools": options.allowedTools = try #require(value.items).compactMap(\.string)
            case "stop_on_repetition": options.stopOnRepetition = try value.flag
            case "continue_final_message": options.continueFinalMessage = try value.flag
            case "enable_thinking": options.enableThinking = try value.flag
            case "inline_thinking_tags": options.inlineThinkingTags = try value.flag
            case "function_call_parser":
                options.functionCallParser = try value.choice([
                    "default": DefaultFunctionCallParser(), "json": JsonStyleFunctionCallParser(),
                    "xml": XmlFunctionCallParser(), "llama": LlamaFunctionCallParser(), nil: nil,
                ])
            case "parser_strictness":
                options.parserStrictness = try value.choice(["recover": .recover, "strict": .strict])
            case "on_cancel":
                options.onCancel = try value.choice([
                    "keep_partial": .keepPartial, "drop_partial": .dropPartial, "drop_turn": .dropTurn,
                ])
            case "on_busy":
                options.onBusy = try value.choice(["error": .error, "queue": .queue])
            case "context_policy":
                options.contextPolicy = try value.choice([
                    "error": .error, "slide": .slide(shrinkToolResults: false),
                    "shrink": .slide(shrinkToolResults: true),
                ])
            default: Issue.record("unknown option \(name)")
            }
        }
        return options
    }
}

extension JsonValue {
    fileprivate var float: Float {
        get throws {
            guard case .double(let number) = self else { throw UnexpectedValue(value: text) }
            return Float(number)
        }
    }

    fileprivate var count: Int {
        get throws {
            guard case .integer(let number) = self else { throw UnexpectedValue(value: text) }
            return number
        }
    }

    fileprivate var flag: Bool {
        get throws {
            guard case .boolean(let flag) = self else { throw UnexpectedValue(value: text) }
            return flag
        }
    }

    fileprivate func choice<Value>(_ choices: [String?: Value]) throws -> Value {
        guard let value = choices[string] else { throw UnexpectedValue(value: text) }
        return value
    }
}

private struct UnexpectedValue: Error {
    var value: String
}
