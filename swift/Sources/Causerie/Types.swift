// Written by scripts/bindgen from the façade in bindings/src.

import Foundation

/// What a prompt leaves out of a history. Messages are given by their index.
public struct ContextPlan: Equatable, Hashable, Sendable {
    /// Tokens of the whole history.
    public var tokensBefore: Int
    /// Tokens of the prompt.
    public var tokensAfter: Int
    /// Messages left out.
    public var droppedMessages: [Int]
    /// Function results that are cut short.
    public var shrunkMessages: [Int]

    /// Creates a value of its parts.
    public init(
        tokensBefore: Int,
        tokensAfter: Int,
        droppedMessages: [Int],
        shrunkMessages: [Int]
    ) {
        self.tokensBefore = tokensBefore
        self.tokensAfter = tokensAfter
        self.droppedMessages = droppedMessages
        self.shrunkMessages = shrunkMessages
    }
}

/// How much of a reply's prompt is prefilled. What comes from the prefix cache counts as prefilled.
public struct PrefillProgress: Equatable, Hashable, Sendable {
    /// Tokens of the prompt that are prefilled.
    public var doneTokens: Int
    /// Tokens of the prompt; 0 until the prompt is prepared.
    public var totalTokens: Int
    /// Images of the prompt that are computed. Each tile of a large picture counts as an image, and its smaller copy as well.
    public var doneImages: Int
    /// Images of the prompt, counted in the same way.
    public var totalImages: Int

    /// Creates a value of its parts.
    public init(
        doneTokens: Int,
        totalTokens: Int,
        doneImages: Int,
        totalImages: Int
    ) {
        self.doneTokens = doneTokens
        self.totalTokens = totalTokens
        self.doneImages = doneImages
        self.totalImages = totalImages
    }
}

/// The answer to one question.
public struct DecisionAnswer: Equatable, Hashable, Sendable {
    /// The name of the question.
    public var name: String?
    /// The answer.
    public var outcome: DecisionOutcome
    /// The probability with which the model would have written one of the labels. The smaller it is, the less the answer says.
    public var labelProbability: Double
    /// Whether that reaches the option's limit. If not, the outcome says next to nothing.
    public var isAnswered: Bool

    /// Creates a value of its parts.
    public init(
        name: String?,
        outcome: DecisionOutcome,
        labelProbability: Double,
        isAnswered: Bool
    ) {
        self.name = name
        self.outcome = outcome
        self.labelProbability = labelProbability
        self.isAnswered = isAnswered
    }
}

/// A choice, or a level of a score.
public struct DecisionLabel: Equatable, Hashable, Sendable {
    /// Its name.
    public var label: String
    /// What it means.
    public var description: String?

    /// Creates a value of its parts.
    public init(
        label: String,
        description: String? = nil
    ) {
        self.label = label
        self.description = description
    }
}

/// How decisions are read.
public struct DecisionOptions: Equatable, Hashable, Sendable {
    /// Divides the log-probabilities of answers: below 1, the answers are more certain. Default: 1 for each kind.
    public var temperature: DecisionTemperatures?
    /// The orders in which the labels of a choice are shown; their log-probabilities are averaged. Each costs as much as a question.
    /// Default: 2 for chat models, 1 for decision models.
    public var rotations: Int?
    /// The least probability of all labels together. Below it, the model would have written something else, and the answer says that
    /// it is not answered. Default: 0.1 for chat models, 0 for decision models.
    public var minLabelProbability: Double?

    /// Creates a value of its parts.
    public init(
        temperature: DecisionTemperatures? = nil,
        rotations: Int? = nil,
        minLabelProbability: Double? = nil
    ) {
        self.temperature = temperature
        self.rotations = rotations
        self.minLabelProbability = minLabelProbability
    }

    /// Returns these options with one changed.
    public func with<Value>(_ option: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
        var options = self
        options[keyPath: option] = value
        return options
    }
}

/// A question about a state.
public struct DecisionQuestion: Equatable, Hashable, Sendable {
    /// The question itself: text, and images for a model that takes them.
    public var instructions: [ChatMessageContent]
    /// What can be answered.
    public var kind: DecisionKind
    /// Names the question in its answer.
    public var name: String?

    /// Creates a value of its parts.
    public init(
        instructions: [ChatMessageContent],
        kind: DecisionKind,
        name: String? = nil
    ) {
        self.instructions = instructions
        self.kind = kind
        self.name = name
    }
}

/// A temperature for each kind of question.
public struct DecisionTemperatures: Equatable, Hashable, Sendable {
    /// For questions that are answered by yes or no.
    public var predicate: Double
    /// For choices.
    public var choice: Double
    /// For scores.
    public var score: Double

    /// Creates a value of its parts.
    public init(
        predicate: Double = 1.0,
        choice: Double = 1.0,
        score: Double = 1.0
    ) {
        self.predicate = predicate
        self.choice = choice
        self.score = score
    }
}

/// The tokens of decisions.
public struct DecisionUsage: Equatable, Hashable, Sendable {
    /// Tokens of all prompts; what they have in common counts once, except for decision models of types lfm2-d1-omni and lfm3-d1,
    /// which share nothing.
    public var inputTokens: Int
    /// The part of them that was computed for earlier requests.
    public var cachedTokens: Int

    /// Creates a value of its parts.
    public init(
        inputTokens: Int,
        cachedTokens: Int
    ) {
        self.inputTokens = inputTokens
        self.cachedTokens = cachedTokens
    }
}

/// The answers to questions about one state.
public struct Decisions: Equatable, Hashable, Sendable {
    /// One answer for each question, in the order of the questions.
    public var answers: [DecisionAnswer]
    /// The tokens that they took.
    public var usage: DecisionUsage

    /// Creates a value of its parts.
    public init(
        answers: [DecisionAnswer],
        usage: DecisionUsage
    ) {
        self.answers = answers
        self.usage = usage
    }
}

/// A label and its probability.
public struct LabelProbability: Equatable, Hashable, Sendable {
    /// The label, as the question has it.
    public var label: String
    /// Its probability among the labels.
    public var probability: Double

    /// Creates a value of its parts.
    public init(
        label: String,
        probability: Double
    ) {
        self.label = label
        self.probability = probability
    }
}

/// How texts are embedded.
public struct EmbedOptions: Equatable, Hashable, Sendable {
    /// What the texts are used for, which chooses the prompt in the model's files. Default: unspecified.
    public var textUse: TextUse?
    /// Text that is put before each text, instead of the prompt in the model's files. Models in GGUF files have no prompts: the
    /// model's description says which it needs.
    public var prompt: String?
    /// Values of a vector to keep, of which at least one. The shorter vector is brought to the length 1 again. Only models that were
    /// trained for it keep most of their quality. Default: all.
    public var dimensions: Int?
    /// Whether vectors are brought to the length 1. Default: as the model's files say; for a GGUF file, yes.
    public var normalises: Bool?
    /// Whether a text that is too long is cut at its end. Otherwise it is an error.
    public var truncates: Bool

    /// Creates a value of its parts.
    public init(
        textUse: TextUse? = nil,
        prompt: String? = nil,
        dimensions: Int? = nil,
        normalises: Bool? = nil,
        truncates: Bool = true
    ) {
        self.textUse = textUse
        self.prompt = prompt
        self.dimensions = dimensions
        self.normalises = normalises
        self.truncates = truncates
    }

    /// Returns these options with one changed.
    public func with<Value>(_ option: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
        var options = self
        options[keyPath: option] = value
        return options
    }
}

/// What an embedding model is and can do.
public struct EmbeddingModelInfo: Equatable, Hashable, Sendable {
    /// The model family, as the files name it: `bert`, `qwen3`.
    public var architecture: String
    /// Values of a vector.
    public var dimensions: Int
    /// Tokens of a text at most, with the tokens around it.
    public var maxTokens: Int
    /// Whether texts have one vector.
    public var embeds: Bool
    /// Whether each token has a vector.
    public var embedsTokens: Bool
    /// Whether the model ranks.
    public var ranks: Bool
    /// The names of the prompts in the model's files.
    public var prompts: [String]

    /// Creates a value of its parts.
    public init(
        architecture: String,
        dimensions: Int,
        maxTokens: Int,
        embeds: Bool,
        embedsTokens: Bool,
        ranks: Bool,
        prompts: [String]
    ) {
        self.architecture = architecture
        self.dimensions = dimensions
        self.maxTokens = maxTokens
        self.embeds = embeds
        self.embedsTokens = embedsTokens
        self.ranks = ranks
        self.prompts = prompts
    }
}

/// Options for loading an embedding model.
public struct EmbeddingModelOptions: Equatable, Hashable, Sendable {
    /// The device that computes. Default: the CPU.
    public var device: Device?
    /// Number of computing threads, 1 to 1024. Results do not depend on it. Default: the number of fast cores.
    public var threads: Int?
    /// Tokens of a text at most, if the model can read more. A model that reads in both directions holds a whole text in memory.
    /// Default: 8,192.
    public var contextSize: Int?

    /// Creates a value of its parts.
    public init(
        device: Device? = nil,
        threads: Int? = nil,
        contextSize: Int? = nil
    ) {
        self.device = device
        self.threads = threads
        self.contextSize = contextSize
    }

    /// Returns these options with one changed.
    public func with<Value>(_ option: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
        var options = self
        options[keyPath: option] = value
        return options
    }
}

/// One document of a ranking.
public struct RankedDocument: Equatable, Hashable, Sendable {
    /// Its place among the documents that were given.
    public var index: Int
    /// How well it fits: a probability for most models; for some cross-encoders a logit, and for models with a vector for each token a
    /// sum of cosines.
    public var relevance: Float

    /// Creates a value of its parts.
    public init(
        index: Int,
        relevance: Float
    ) {
        self.index = index
        self.relevance = relevance
    }
}

/// The documents that fit a query best, the best first.
public struct Ranking: Equatable, Hashable, Sendable {
    /// The documents, the best first; of equal ones, the earlier first.
    public var results: [RankedDocument]
    /// Tokens that were read, with prompts and the tokens around texts.
    public var tokenCount: Int
    /// The documents that were cut, as indices.
    public var truncated: [Int]

    /// Creates a value of its parts.
    public init(
        results: [RankedDocument],
        tokenCount: Int,
        truncated: [Int]
    ) {
        self.results = results
        self.tokenCount = tokenCount
        self.truncated = truncated
    }
}

/// How documents are ranked.
public struct RerankOptions: Equatable, Hashable, Sendable {
    /// The number of results. Default: all documents.
    public var topN: Int?
    /// What makes a document relevant, for models that are asked in words. Default: that it answers the query. Other models refuse it.
    public var instruction: String?

    /// Creates a value of its parts.
    public init(
        topN: Int? = nil,
        instruction: String? = nil
    ) {
        self.topN = topN
        self.instruction = instruction
    }

    /// Returns these options with one changed.
    public func with<Value>(_ option: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
        var options = self
        options[keyPath: option] = value
        return options
    }
}

/// The vectors of texts, in the order of the texts.
public struct TextEmbeddings: Equatable, Hashable, Sendable {
    /// A vector for each text.
    public var vectors: [[Float]]
    /// Tokens that were read, with prompts and the tokens around texts.
    public var tokenCount: Int
    /// The texts that were cut, as indices.
    public var truncated: [Int]

    /// Creates a value of its parts.
    public init(
        vectors: [[Float]],
        tokenCount: Int,
        truncated: [Int]
    ) {
        self.vectors = vectors
        self.tokenCount = tokenCount
        self.truncated = truncated
    }
}

/// The vectors of all tokens of texts, for models that compare texts token by token.
public struct TokenEmbeddings: Equatable, Hashable, Sendable {
    /// For each text the vectors of its tokens, which have the length 1.
    public var texts: [[[Float]]]
    /// Tokens that were read, with prompts and the tokens around texts.
    public var tokenCount: Int
    /// The texts that were cut, as indices.
    public var truncated: [Int]

    /// Creates a value of its parts.
    public init(
        texts: [[[Float]]],
        tokenCount: Int,
        truncated: [Int]
    ) {
        self.texts = texts
        self.tokenCount = tokenCount
        self.truncated = truncated
    }
}

/// A finding about a call or one of its arguments.
public struct Diagnostic: Equatable, Hashable, Sendable {
    /// The code of the finding: `missing_required`, `wrong_type`, …
    public var code: String
    /// The severity.
    public var severity: Severity
    /// The path, such as `config.items[2].id`; empty for the call as a whole.
    public var path: String
    /// One readable line, which may be sent back to the model.
    public var text: String

    /// Creates a value of its parts.
    public init(
        code: String,
        severity: Severity,
        path: String,
        text: String
    ) {
        self.code = code
        self.severity = severity
        self.path = path
        self.text = text
    }
}

/// Call text that could not be delivered as a call.
public struct RejectedCall: Equatable, Hashable, Sendable {
    /// The code of the reason: `incomplete_block`, `positional_argument`, …
    public var reason: String
    /// The function's name, if it could be parsed.
    public var name: String?
    /// The rejected text.
    public var rawText: String
    /// The offset in its block, in bytes.
    public var byteOffset: UInt64
    /// The call as far as it could be parsed. An app may accept it deliberately.
    public var candidate: SdkFunctionCall?
    /// One readable line.
    public var explanation: String

    /// Creates a value of its parts.
    public init(
        reason: String,
        name: String?,
        rawText: String,
        byteOffset: UInt64,
        candidate: SdkFunctionCall?,
        explanation: String
    ) {
        self.reason = reason
        self.name = name
        self.rawText = rawText
        self.byteOffset = byteOffset
        self.candidate = candidate
        self.explanation = explanation
    }
}

/// A function that the model may call.
public struct SdkFunction: Equatable, Hashable, Sendable {
    /// Letters, digits, `_` and `-`, at most 200; identifiers are recommended.
    public var name: String
    /// The purpose of the function, written for the model.
    public var functionDescription: String
    /// The parameters, in the order in which they are in the prompt.
    public var parameters: [SdkFunctionParameter]
    /// The JSON text that the function was read from, if the other fields do not show all of it. Prompts show it as it is, with
    /// the name above, as long as it has the same description and parameters.
    public var definition: String?

    /// Creates a value of its parts.
    public init(
        name: String,
        functionDescription: String,
        parameters: [SdkFunctionParameter],
        definition: String? = nil
    ) {
        self.name = name
        self.functionDescription = functionDescription
        self.parameters = parameters
        self.definition = definition
    }
}

/// A function call that the model made. Validate the arguments before running the function.
public struct SdkFunctionCall: Equatable, Hashable, Sendable {
    /// The name of the function, which need not be registered.
    public var name: String
    /// The arguments exactly as the model wrote them. Some may be missing or of the wrong type.
    public var argumentsObject: SdkJsonObject
    /// Distinguishes the calls of a message: `call_0`, `call_1`, … in order.
    public var callId: String
    /// The text of this call as the model wrote it.
    public var rawText: String
    /// Codes of the repairs that were needed to parse the call; empty for valid calls.
    public var repairs: [String]
    /// Differences from the registered functions; empty if the call fits.
    public var diagnostics: [Diagnostic]

    /// Creates a value of its parts.
    public init(
        name: String,
        argumentsObject: SdkJsonObject,
        callId: String = "",
        rawText: String = "",
        repairs: [String] = [],
        diagnostics: [Diagnostic] = []
    ) {
        self.name = name
        self.argumentsObject = argumentsObject
        self.callId = callId
        self.rawText = rawText
        self.repairs = repairs
        self.diagnostics = diagnostics
    }
}

/// A parameter of a function.
public struct SdkFunctionParameter: Equatable, Hashable, Sendable {
    /// The name of the argument in calls.
    public var name: String
    /// The type of its values. The parameter's description replaces that of the type.
    public var type: SdkFunctionParameterType
    /// The meaning of the parameter, written for the model.
    public var parameterDescription: String
    /// Whether a call may omit it.
    public var optional: Bool
    /// The JSON Schema of an imported parameter that no type can express. It replaces the type.
    public var schema: SdkJsonObject?

    /// Creates a value of its parts.
    public init(
        name: String,
        type: SdkFunctionParameterType,
        parameterDescription: String,
        optional: Bool = false,
        schema: SdkJsonObject? = nil
    ) {
        self.name = name
        self.type = type
        self.parameterDescription = parameterDescription
        self.optional = optional
        self.schema = schema
    }
}

/// A call compared with its function.
public struct Validation: Equatable, Hashable, Sendable {
    /// The arguments, converted to the function's types where that is safe.
    public var argumentsObject: SdkJsonObject
    /// The findings.
    public var diagnostics: [Diagnostic]
    /// Whether the function can run with these arguments.
    public var isOk: Bool
    /// The errors, as a function result to be sent back to the model.
    public var errorsAsToolText: String

    /// Creates a value of its parts.
    public init(
        argumentsObject: SdkJsonObject,
        diagnostics: [Diagnostic],
        isOk: Bool,
        errorsAsToolText: String
    ) {
        self.argumentsObject = argumentsObject
        self.diagnostics = diagnostics
        self.isOk = isOk
        self.errorsAsToolText = errorsAsToolText
    }
}

/// A model in the cache.
public struct CachedModel: Equatable, Hashable, Sendable {
    /// A name that loads this model.
    public var name: String
    /// The commit that its files are of.
    public var commit: String
    /// The size of its files in bytes.
    public var size: UInt64
    /// The file or folder to load.
    public var path: String

    /// Creates a value of its parts.
    public init(
        name: String,
        commit: String,
        size: UInt64,
        path: String
    ) {
        self.name = name
        self.commit = commit
        self.size = size
        self.path = path
    }
}

/// Options of a hub. An absent option takes the value of the environment, from the variables of Hugging Face's tools.
public struct HubOptions: Equatable, Hashable, Sendable {
    /// The folder that models are downloaded into. Default: the cache that Hugging Face's tools share; on iOS, a folder of the
    /// app. On Android the app must name one.
    public var cache: String?
    /// The address of the hub. Default: `HF_ENDPOINT`, or else `https://huggingface.co`.
    public var endpoint: String?
    /// The token for private and gated repositories. It is sent to the endpoint only. Default: `HF_TOKEN` or the file of other
    /// tools.
    public var token: String?
    /// Whether requests are switched off. Default: `HF_HUB_OFFLINE`.
    public var isOffline: Bool?
    /// Whether a download is refused if the disk has too little space. Default: yes.
    public var checksSpace: Bool?
    /// Milliseconds without a byte after which a transfer is tried again. Default: 30,000.
    public var idleTimeoutMilliseconds: UInt64?
    /// The pause in milliseconds before a failed request is tried again, which doubles with each failure in a row.
    /// Default: 1,000.
    public var retryPauseMilliseconds: UInt64?
    /// Whether the files of a model are links to where their contents are stored, so that versions of a model share files.
    /// Default: yes, unless `HF_HUB_DISABLE_SYMLINKS` is set.
    public var usesLinks: Bool?

    /// Creates a value of its parts.
    public init(
        cache: String? = nil,
        endpoint: String? = nil,
        token: String? = nil,
        isOffline: Bool? = nil,
        checksSpace: Bool? = nil,
        idleTimeoutMilliseconds: UInt64? = nil,
        retryPauseMilliseconds: UInt64? = nil,
        usesLinks: Bool? = nil
    ) {
        self.cache = cache
        self.endpoint = endpoint
        self.token = token
        self.isOffline = isOffline
        self.checksSpace = checksSpace
        self.idleTimeoutMilliseconds = idleTimeoutMilliseconds
        self.retryPauseMilliseconds = retryPauseMilliseconds
        self.usesLinks = usesLinks
    }

    /// Returns these options with one changed.
    public func with<Value>(_ option: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
        var options = self
        options[keyPath: option] = value
        return options
    }
}

/// A file of a plan that the app fetches.
public struct PlannedFile: Equatable, Hashable, Sendable {
    /// The address of the file, whose answer redirects to the place where the file is stored.
    public var url: String
    /// The path in the repository.
    public var path: String
    /// The size in bytes.
    public var size: UInt64
    /// The digest of the content: 64 hexadecimal digits of SHA-256, or the 40 of git's id.
    public var digest: String

    /// Creates a value of its parts.
    public init(
        url: String,
        path: String,
        size: UInt64,
        digest: String
    ) {
        self.url = url
        self.path = path
        self.size = size
        self.digest = digest
    }
}

/// The progress of a download. Numbers never go backwards, except for the speed.
public struct PullProgress: Equatable, Hashable, Sendable {
    /// What the download is doing.
    public var state: PullState
    /// The file that it is about; empty while the name is resolved.
    public var file: String
    /// Bytes already downloaded, of all files.
    public var done: UInt64
    /// Bytes of all files; 0 until it is known.
    public var total: UInt64
    /// The bytes that were there already when the download began.
    public var resumedFrom: UInt64
    /// The speed during the last seconds.
    public var bytesPerSecond: UInt64

    /// Creates a value of its parts.
    public init(
        state: PullState,
        file: String,
        done: UInt64,
        total: UInt64,
        resumedFrom: UInt64,
        bytesPerSecond: UInt64
    ) {
        self.state = state
        self.file = file
        self.done = done
        self.total = total
        self.resumedFrom = resumedFrom
        self.bytesPerSecond = bytesPerSecond
    }
}

/// One message of a conversation.
public struct ChatMessage: Equatable, Hashable, Sendable {
    /// The author.
    public var role: ChatMessageRole
    /// The parts, in order. Empty for a reply that holds only calls.
    public var content: [ChatMessageContent]
    /// The model's reasoning.
    public var reasoningContent: String?
    /// On an assistant message, the calls it made, in order.
    public var functionCalls: [SdkFunctionCall]?
    /// On an assistant message, call text that could not be delivered.
    public var rejectedCalls: [RejectedCall]
    /// On the system message, the registered functions, so that a history carries its functions with it.
    public var functions: [SdkFunction]
    /// Whether a cancel cut the reply short.
    public var incomplete: Bool
    /// On a tool message, the call that it answers.
    public var toolCallId: String?
    /// The name of the author, or of the function that was called.
    public var name: String?
    /// Unknown fields of an imported message, as the text of a JSON object. They are exported again.
    public var extra: String

    /// Creates a value of its parts.
    public init(
        role: ChatMessageRole,
        content: [ChatMessageContent],
        reasoningContent: String? = nil,
        functionCalls: [SdkFunctionCall]? = nil,
        rejectedCalls: [RejectedCall] = [],
        functions: [SdkFunction] = [],
        incomplete: Bool = false,
        toolCallId: String? = nil,
        name: String? = nil,
        extra: String = "{}"
    ) {
        self.role = role
        self.content = content
        self.reasoningContent = reasoningContent
        self.functionCalls = functionCalls
        self.rejectedCalls = rejectedCalls
        self.functions = functions
        self.incomplete = incomplete
        self.toolCallId = toolCallId
        self.name = name
        self.extra = extra
    }
}

/// Options for generating a reply. An absent option takes the model's default, or else the default given here.
public struct GenerationOptions: Equatable, Hashable, Sendable {
    /// The notation of calls in the reply. Without one, parsing is off, and calls arrive as chunks of text. Default: the notation
    /// that the model writes.
    public var functionCallParser: FunctionCallParser?
    /// How calls are handled that can be read only after a repair. Default: they are delivered.
    public var parserStrictness: Strictness?
    /// Randomness of the choice of tokens; 0 always picks the most probable token. Default 1.0.
    public var temperature: Float?
    /// Nucleus sampling: keeps the most probable tokens up to this cumulative probability, between 0 and 1; 0 keeps the most
    /// probable token only. Default 1.0.
    public var topP: Float?
    /// Keeps the k most probable tokens; 0 keeps all. Default 50.
    public var topK: Int?
    /// Keeps tokens with at least this fraction of the most probable token's probability, between 0 and 1. Default 0.
    public var minP: Float?
    /// Values above 1.0 make tokens that occur in the prompt or the reply less probable. Default 1.0.
    public var repetitionPenalty: Float?
    /// Subtracted once from the logit of each token that occurs in the reply, between -2 and 2. Values above 0 favour new
    /// topics. Default 0.
    public var presencePenalty: Float?
    /// Subtracted from the logit of a token for each of its occurrences in the reply, between -2 and 2. Default 0.
    public var frequencyPenalty: Float?
    /// Values added to the logits of tokens, by id, between -100 and 100; -100 practically excludes a token. Default: none.
    public var logitBias: [Int: Float]?
    /// Reports each token's log-probability in `Logprobs` events, with this many of the likeliest alternatives, 0 to 20.
    /// Default: no such events.
    public var logprobs: Int?
    /// Seed of the random choices. On the CPU, the same seed, model, build and prompt give the same reply, whatever else is
    /// generated at the same time or is cached (docs/adr/0015). On Metal, the last bits of logits may differ if part of the
    /// prompt comes from the cache. Default: a random seed, which is reported with the reply.
    public var rngSeed: UInt64?
    /// The largest number of tokens of the reply. Default: no limit but the context.
    public var maxTokens: Int?
    /// Continues after tokens that end a reply, until `maxTokens` or the end of the context. For benchmarks, which need
    /// replies of equal length. Default: no.
    public var ignoreEnd: Bool
    /// Strings that end the reply. They are not part of it.
    public var stopSequences: [String]
    /// Whether the model may or must call functions. Default: the model decides.
    public var toolChoice: ToolChoice?
    /// Whether a reply may contain several calls. If not, a constraint prevents further calls; without a constraint they are
    /// delivered with the diagnostic `parallel_limit`. Default: yes.
    public var parallelToolCalls: Bool
    /// Names of the functions of the conversation that the prompt lists, in the order in which they were registered. The others
    /// stay in the history and may not be called; `allowedTools` may not name them. With many functions, a small model makes
    /// more right calls if the few that fit the message are offered alone; an embedding model chooses them. A prompt that lists
    /// the same functions as the one before goes on from the prefix cache. Default: all.
    public var offeredFunctions: [String]?
    /// The largest number of functions that the prompt lists, besides those that the conversation has called. If there are more,
    /// those that fit the user's messages best are chosen, by the embedding model that the runner's `set_function_ranker` sets,
    /// without which this option is an error. The better half for the last message is always listed. Functions that were listed
    /// before keep their places, so that messages about the same things have the same list, and their prompts go on from the
    /// prefix cache (docs/functions.md). With `offeredFunctions` or `allowedTools` the choice is among these. Default: no limit.
    public var maxOfferedFunctions: Int?
    /// Names of the functions that may be called, out of the ones that the prompt offers. A constraint prevents calls of other
    /// functions; without a constraint they are delivered with the diagnostic `tool_not_allowed`. Default: all.
    public var allowedTools: [String]?
    /// Whether calls are constrained to the declared functions during generation. Default: they are not.
    public var toolCallConstraint: ToolCallConstraint?
    /// A JSON Schema, as JSON text, that constrains the text of the reply. Functions can still be called: a reply is either an
    /// answer that fits the schema or a block of calls. Reasoning is not constrained. Default: none.
    public var jsonSchemaConstraint: String?
    /// Whether the prompt states that schema, at the end of the system message. The history does not change. Default: yes.
    public var injectSchemaIntoPrompt: Bool
    /// Continues the last message of the history, which must be a reply without calls: the prompt ends with its text, and the
    /// new text is added to it. The events report the new text only. Default: no.
    public var continueFinalMessage: Bool
    /// Requests reasoning from templates that have the variable `enableThinking`, and delivers reasoning in `ReasoningChunk`
    /// events. Otherwise, reasoning that a model writes all the same is only kept in the message. Default: no.
    public var enableThinking: Bool
    /// Delivers reasoning as part of the text, between `<think>` and `</think>`. Default: no.
    public var inlineThinkingTags: Bool
    /// Further variables for the chat template, such as `{"style": "brief"}`. Variables that causerie sets itself are an error.
    /// Default: none.
    public var templateVariables: SdkJsonObject?
    /// Ends the reply after its first block of calls. Some models regularly write text after calls. Default: no.
    public var stopAfterToolCalls: Bool
    /// Ends a reply whose end only repeats itself, with the diagnostic `repeated_tail`: the same words over three kilobytes and
    /// 128 times, or the same paragraph over eight kilobytes. Data, code and drawings may repeat a part 1,024 times. Text that
    /// is held to a schema and calls never end so. Default: on for the demo model, and off for others.
    public var stopOnRepetition: Bool?
    /// Whether, and in which order, a model that speaks gives text and sound. Default: as the system prompt asks.
    public var speechMode: SpeechMode?
    /// Randomness of the choice of sounds; 0 always picks the most probable. Default 1.0 in interleaved replies, 0.8 in others.
    public var speechTemperature: Float?
    /// Keeps the k most probable sounds; 0 keeps all. Default 4 in interleaved replies, 64 in others.
    public var speechTopK: Int?
    /// What remains of a cancelled reply in the history. Default: the text so far.
    public var onCancel: OnCancel?
    /// How a request is handled while the conversation is generating another reply. Default: an error.
    public var onBusy: OnBusy?
    /// How a history that does not fit the context is handled. Default: an error.
    public var contextPolicy: ContextPolicy?
    /// Cancels the reply after this time, which includes the time in the request queue. Default: no limit.
    public var timeoutMilliseconds: UInt64?

    /// Creates a value of its parts.
    public init(
        functionCallParser: FunctionCallParser? = .model,
        parserStrictness: Strictness? = nil,
        temperature: Float? = nil,
        topP: Float? = nil,
        topK: Int? = nil,
        minP: Float? = nil,
        repetitionPenalty: Float? = nil,
        presencePenalty: Float? = nil,
        frequencyPenalty: Float? = nil,
        logitBias: [Int: Float]? = nil,
        logprobs: Int? = nil,
        rngSeed: UInt64? = nil,
        maxTokens: Int? = nil,
        ignoreEnd: Bool = false,
        stopSequences: [String] = [],
        toolChoice: ToolChoice? = nil,
        parallelToolCalls: Bool = true,
        offeredFunctions: [String]? = nil,
        maxOfferedFunctions: Int? = nil,
        allowedTools: [String]? = nil,
        toolCallConstraint: ToolCallConstraint? = nil,
        jsonSchemaConstraint: String? = nil,
        injectSchemaIntoPrompt: Bool = true,
        continueFinalMessage: Bool = false,
        enableThinking: Bool = false,
        inlineThinkingTags: Bool = false,
        templateVariables: SdkJsonObject? = nil,
        stopAfterToolCalls: Bool = false,
        stopOnRepetition: Bool? = nil,
        speechMode: SpeechMode? = nil,
        speechTemperature: Float? = nil,
        speechTopK: Int? = nil,
        onCancel: OnCancel? = nil,
        onBusy: OnBusy? = nil,
        contextPolicy: ContextPolicy? = nil,
        timeoutMilliseconds: UInt64? = nil
    ) {
        self.functionCallParser = functionCallParser
        self.parserStrictness = parserStrictness
        self.temperature = temperature
        self.topP = topP
        self.topK = topK
        self.minP = minP
        self.repetitionPenalty = repetitionPenalty
        self.presencePenalty = presencePenalty
        self.frequencyPenalty = frequencyPenalty
        self.logitBias = logitBias
        self.logprobs = logprobs
        self.rngSeed = rngSeed
        self.maxTokens = maxTokens
        self.ignoreEnd = ignoreEnd
        self.stopSequences = stopSequences
        self.toolChoice = toolChoice
        self.parallelToolCalls = parallelToolCalls
        self.offeredFunctions = offeredFunctions
        self.maxOfferedFunctions = maxOfferedFunctions
        self.allowedTools = allowedTools
        self.toolCallConstraint = toolCallConstraint
        self.jsonSchemaConstraint = jsonSchemaConstraint
        self.injectSchemaIntoPrompt = injectSchemaIntoPrompt
        self.continueFinalMessage = continueFinalMessage
        self.enableThinking = enableThinking
        self.inlineThinkingTags = inlineThinkingTags
        self.templateVariables = templateVariables
        self.stopAfterToolCalls = stopAfterToolCalls
        self.stopOnRepetition = stopOnRepetition
        self.speechMode = speechMode
        self.speechTemperature = speechTemperature
        self.speechTopK = speechTopK
        self.onCancel = onCancel
        self.onBusy = onBusy
        self.contextPolicy = contextPolicy
        self.timeoutMilliseconds = timeoutMilliseconds
    }

    /// Returns these options with one changed.
    public func with<Value>(_ option: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
        var options = self
        options[keyPath: option] = value
        return options
    }

    /// Refuses negative counts, which the engine could not be given.
    func check() throws {
        try checkCount(topK, "topK", expected: "0 or more")
        try checkCount(logitBias?.keys.min(), "logitBias", expected: "token ids")
        try checkCount(logprobs, "logprobs", expected: "between 0 and 20")
        try checkCount(maxTokens, "maxTokens", expected: "1 or more")
        try checkCount(maxOfferedFunctions, "maxOfferedFunctions", expected: "1 or more")
        try checkCount(speechTopK, "speechTopK", expected: "0 or more")
    }
}

/// Options for loading a model.
public struct LoadOptions: Equatable, Hashable, Sendable {
    /// The largest number of tokens of a prompt and its reply together, limited to the model's own context size. Default: the
    /// model's context size, at most 8,192.
    public var contextSize: Int?
    /// The device that computes. Default: the CPU.
    public var device: Device?
    /// Threads that compute on the CPU, 1 to 1024. No result depends on it. Default: the number of cores; if there are fast
    /// and slow ones, the number of fast ones.
    public var threads: Int?
    /// The storage format of keys and values; with the feature `metal` it is always F32 on Metal. Default: F16.
    public var cacheType: CacheType?
    /// A chat template that replaces the model's own.
    public var chatTemplate: String?
    /// A GGUF file with the projector of a vision model (mmproj). Default: the projector in the model's own files, or a file
    /// beside the model's, whose name contains `mmproj` or `projector`.
    public var projector: String?
    /// Which names functions may have. Default: letters, digits, `_` and `-`.
    public var functionNames: FunctionNames?
    /// Sampling values that replace the ones that the model's files recommend. The options of a reply take precedence.
    public var generationDefaults: SamplingDefaults?
    /// Size limit of the prefix cache in bytes; 0 disables the cache. The entry used last is kept even if it alone is larger.
    /// An eighth as much is kept of images that were computed, for pictures that are shown again. Default 512 MiB.
    public var cacheBytes: UInt64?
    /// Whether transparent pixels of pictures show the colours that their file has there, as in transformers. Such colours were
    /// never meant to be seen: black ink on a transparent ground is often black on black. Default: no, they are put on white.
    public var ignoresTransparency: Bool
    /// A GGUF file with the part of an audio model that writes frames of sound (vocoder). Default: the part in the model's own
    /// folder, or a file beside the model's, whose name contains `vocoder` or `audiodecoder`.
    public var audioDecoder: String?
    /// A GGUF file or folder with the part of an audio model that turns frames into sound. Default: the folder
    /// `audio_detokenizer` in the model's own, or a file beside the model's, whose name contains `tokenizer`.
    public var audioTokenizer: String?
    /// A folder of the app for packed weights. The first load of a model writes its weights there as the kernels read them, and
    /// later ones map that file instead of reading the model's: they take a fraction of the time and, with mapped weights, of
    /// the memory. No other program may write to the folder. Packed weights are as large as the weights of the model. When new
    /// ones are written, older ones are removed: of other releases, of models that are gone, and the oldest above the limit.
    /// On a GPU, and for a model in memory, nothing is written. Default: none.
    public var packedFolder: String?
    /// The limit of all packed weights in that folder in bytes. A larger model is not packed. Default 16 GiB.
    public var packedBytes: UInt64?
    /// How packed weights come into memory. No result depends on it. Default: mapped on iOS and Android, `Auto` elsewhere.
    public var weightMemory: WeightMemory?
    /// The GPU's name, or a part of it in upper or lower case, as `causerie inspect devices` shows it. A software device is
    /// taken only by its name. Default: a card with memory of its own, or else the processor's.
    public var gpuName: String?
    /// The memory of the GPU that the model and its sequences may take, in bytes. A model that needs more is refused, or goes
    /// to the CPU if the device is chosen by `Auto`; where sequences need more, replies go on on the CPU. Default: what the
    /// system leaves to the process.
    public var gpuBytes: UInt64?

    /// Creates a value of its parts.
    public init(
        contextSize: Int? = nil,
        device: Device? = nil,
        threads: Int? = nil,
        cacheType: CacheType? = nil,
        chatTemplate: String? = nil,
        projector: String? = nil,
        functionNames: FunctionNames? = nil,
        generationDefaults: SamplingDefaults? = nil,
        cacheBytes: UInt64? = nil,
        ignoresTransparency: Bool = false,
        audioDecoder: String? = nil,
        audioTokenizer: String? = nil,
        packedFolder: String? = nil,
        packedBytes: UInt64? = nil,
        weightMemory: WeightMemory? = nil,
        gpuName: String? = nil,
        gpuBytes: UInt64? = nil
    ) {
        self.contextSize = contextSize
        self.device = device
        self.threads = threads
        self.cacheType = cacheType
        self.chatTemplate = chatTemplate
        self.projector = projector
        self.functionNames = functionNames
        self.generationDefaults = generationDefaults
        self.cacheBytes = cacheBytes
        self.ignoresTransparency = ignoresTransparency
        self.audioDecoder = audioDecoder
        self.audioTokenizer = audioTokenizer
        self.packedFolder = packedFolder
        self.packedBytes = packedBytes
        self.weightMemory = weightMemory
        self.gpuName = gpuName
        self.gpuBytes = gpuBytes
    }

    /// Returns these options with one changed.
    public func with<Value>(_ option: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
        var options = self
        options[keyPath: option] = value
        return options
    }

    /// Refuses negative counts, which the engine could not be given.
    func check() throws {
        try checkCount(contextSize, "contextSize", expected: "1 or more")
        try checkCount(threads, "threads", expected: "between 1 and 1024")
        try generationDefaults?.check()
    }
}

/// Sampling values that replace those that a model's files recommend.
public struct SamplingDefaults: Equatable, Hashable, Sendable {
    /// As in `GenerationOptions`.
    public var temperature: Float?
    /// As in `GenerationOptions`.
    public var topP: Float?
    /// As in `GenerationOptions`.
    public var topK: Int?
    /// As in `GenerationOptions`.
    public var minP: Float?
    /// As in `GenerationOptions`.
    public var repetitionPenalty: Float?

    /// Creates a value of its parts.
    public init(
        temperature: Float? = nil,
        topP: Float? = nil,
        topK: Int? = nil,
        minP: Float? = nil,
        repetitionPenalty: Float? = nil
    ) {
        self.temperature = temperature
        self.topP = topP
        self.topK = topK
        self.minP = minP
        self.repetitionPenalty = repetitionPenalty
    }

    /// Returns these options with one changed.
    public func with<Value>(_ option: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
        var options = self
        options[keyPath: option] = value
        return options
    }

    /// Refuses negative counts, which the engine could not be given.
    func check() throws {
        try checkCount(topK, "topK", expected: "0 or more")
    }
}

/// Counts and times of one generation. Times are in seconds.
public struct GenerationStats: Equatable, Hashable, Sendable {
    /// Tokens of the prompt.
    public var promptTokens: Int
    /// Prompt tokens taken from the prefix cache instead of being prefilled.
    public var cachedPromptTokens: Int
    /// Tokens of the prompt that are sound: rows of 80 ms, for example.
    public var audioTokens: Int
    /// Tokens that the model wrote, including calls and reasoning.
    public var completionTokens: Int
    /// Completion tokens that are sound: frames of 80 ms, for example.
    public var spokenTokens: Int
    /// Completion tokens in reasoning.
    public var reasoningTokens: Int
    /// Completion tokens in blocks of calls.
    public var callTokens: Int
    /// Completion tokens that the constraint forced, so that no sampling was needed.
    public var forcedTokens: Int
    /// Draft tokens that the model verified (speculative decoding).
    public var draftedTokens: Int
    /// Draft tokens that were accepted.
    public var acceptedDraftTokens: Int
    /// Time spent computing which tokens the constraint allows; a part of the other times.
    public var constraintTime: Double
    /// Tokens of prompt and reply together.
    public var totalTokens: Int
    /// Time in the request queue.
    public var queueTime: Double
    /// Time from the request to the first token written.
    public var timeToFirstToken: Double
    /// Time spent prefilling the prompt.
    public var prefillTime: Double
    /// Time spent decoding.
    public var decodeTime: Double
    /// Tokens written per second of decoding.
    public var tokensPerSecond: Double
    /// The seed that was used.
    public var seed: UInt64
    /// The sampling values that were used.
    public var sampling: Sampling
    /// Tokens that the context can hold.
    public var contextSize: Int
    /// Peak memory of the whole process so far, in bytes; absent where the system does not report it.
    public var peakMemory: UInt64?

    /// Creates a value of its parts.
    public init(
        promptTokens: Int,
        cachedPromptTokens: Int,
        audioTokens: Int,
        completionTokens: Int,
        spokenTokens: Int,
        reasoningTokens: Int,
        callTokens: Int,
        forcedTokens: Int,
        draftedTokens: Int,
        acceptedDraftTokens: Int,
        constraintTime: Double,
        totalTokens: Int,
        queueTime: Double,
        timeToFirstToken: Double,
        prefillTime: Double,
        decodeTime: Double,
        tokensPerSecond: Double,
        seed: UInt64,
        sampling: Sampling,
        contextSize: Int,
        peakMemory: UInt64?
    ) {
        self.promptTokens = promptTokens
        self.cachedPromptTokens = cachedPromptTokens
        self.audioTokens = audioTokens
        self.completionTokens = completionTokens
        self.spokenTokens = spokenTokens
        self.reasoningTokens = reasoningTokens
        self.callTokens = callTokens
        self.forcedTokens = forcedTokens
        self.draftedTokens = draftedTokens
        self.acceptedDraftTokens = acceptedDraftTokens
        self.constraintTime = constraintTime
        self.totalTokens = totalTokens
        self.queueTime = queueTime
        self.timeToFirstToken = timeToFirstToken
        self.prefillTime = prefillTime
        self.decodeTime = decodeTime
        self.tokensPerSecond = tokensPerSecond
        self.seed = seed
        self.sampling = sampling
        self.contextSize = contextSize
        self.peakMemory = peakMemory
    }
}

/// What a prompt left out of the history. Messages are given by their index.
public struct PromptReport: Equatable, Hashable, Sendable {
    /// Messages left out so that the prompt fits the context.
    public var droppedMessages: [Int]
    /// Function results that were cut short so that the prompt fits the context.
    public var shrunkMessages: [Int]
    /// Assistant messages whose number of following results differs from their number of calls.
    public var miscountedResults: [Int]

    /// Creates a value of its parts.
    public init(
        droppedMessages: [Int],
        shrunkMessages: [Int],
        miscountedResults: [Int]
    ) {
        self.droppedMessages = droppedMessages
        self.shrunkMessages = shrunkMessages
        self.miscountedResults = miscountedResults
    }
}

/// The sampling values that were used.
public struct Sampling: Equatable, Hashable, Sendable {
    public var temperature: Float
    public var topP: Float
    public var topK: Int
    public var minP: Float
    public var repetitionPenalty: Float
    public var presencePenalty: Float
    public var frequencyPenalty: Float

    /// Creates a value of its parts.
    public init(
        temperature: Float,
        topP: Float,
        topK: Int,
        minP: Float,
        repetitionPenalty: Float,
        presencePenalty: Float,
        frequencyPenalty: Float
    ) {
        self.temperature = temperature
        self.topP = topP
        self.topK = topK
        self.minP = minP
        self.repetitionPenalty = repetitionPenalty
        self.presencePenalty = presencePenalty
        self.frequencyPenalty = frequencyPenalty
    }
}

/// A token with the natural logarithm of its probability, before temperature, penalties, biases and constraints.
public struct ScoredToken: Equatable, Hashable, Sendable {
    /// Its id.
    public var id: Int
    /// Its bytes as text; for a control token, its spelling.
    public var text: String
    /// The bytes that it adds to the reply; empty for a control token.
    public var bytes: Data
    /// The natural logarithm of its probability.
    public var logprob: Double

    /// Creates a value of its parts.
    public init(
        id: Int,
        text: String,
        bytes: Data,
        logprob: Double
    ) {
        self.id = id
        self.text = text
        self.bytes = bytes
        self.logprob = logprob
    }
}

/// A token of a reply with its log-probability.
public struct TokenLogprob: Equatable, Hashable, Sendable {
    /// The token that was written.
    public var token: ScoredToken
    /// The section that it belongs to. Markers of reasoning and of calls belong to those sections.
    public var place: ReplySection
    /// The most probable tokens at its position, the best first, as many as were requested.
    public var alternatives: [ScoredToken]

    /// Creates a value of its parts.
    public init(
        token: ScoredToken,
        place: ReplySection,
        alternatives: [ScoredToken]
    ) {
        self.token = token
        self.place = place
        self.alternatives = alternatives
    }
}

/// Facts about a model.
public struct ModelInfo: Equatable, Hashable, Sendable {
    /// The name that its files give it.
    public var name: String?
    /// The family, by the name in its files.
    public var architecture: String
    /// Number of weights, each counted once.
    public var parameters: UInt64
    /// Number of layers of any kind.
    public var layers: Int
    /// Context size that the model was trained for, in tokens.
    public var contextSize: Int
    /// Number of tokens in its vocabulary.
    public var vocabularySize: Int
    /// Storage formats of the weights, the one with the most bytes first.
    public var quantisation: [String]
    /// Whether the chat template supports functions.
    public var supportsFunctionCalling: Bool
    /// The notation in which the model writes calls, found from its chat template. It is the default of the options of a
    /// reply.
    public var functionCallParser: FunctionCallParser
    /// Whether the chat template supports reasoning.
    public var supportsReasoning: Bool
    /// Whether messages can contain images.
    public var supportsImages: Bool
    /// Whether messages can contain sound.
    public var supportsAudio: Bool
    /// Whether the model speaks: its replies may have sound.
    public var supportsSpeech: Bool
    /// Estimated memory in bytes, with the context size that it was or would be loaded with.
    public var memoryEstimate: UInt64
    /// The part of it that the vision tower and its projector take; 0 if the model takes no images.
    public var visionMemory: UInt64
    /// The part of it that the encoder of sound and its adapter take; 0 if the model has no audio input.
    public var hearingMemory: UInt64
    /// The part of it that the parts which speak take; 0 if the model does not speak.
    public var speechMemory: UInt64
    /// Names in the files of tensors that nothing reads, in order.
    public var unusedTensors: [String]
    /// Problems with the tokenizer or chat template that prevent loading, one per entry; empty once loaded.
    public var problems: [String]
    /// The name of the GPU that computes the loaded model; none on the CPU, and before it is loaded.
    public var gpu: String?
    /// How the GPU's results may differ from the CPU's, one per entry; empty if they have the same bits.
    public var gpuDifferences: [String]

    /// Creates a value of its parts.
    public init(
        name: String?,
        architecture: String,
        parameters: UInt64,
        layers: Int,
        contextSize: Int,
        vocabularySize: Int,
        quantisation: [String],
        supportsFunctionCalling: Bool,
        functionCallParser: FunctionCallParser = .model,
        supportsReasoning: Bool,
        supportsImages: Bool,
        supportsAudio: Bool,
        supportsSpeech: Bool,
        memoryEstimate: UInt64,
        visionMemory: UInt64,
        hearingMemory: UInt64,
        speechMemory: UInt64,
        unusedTensors: [String],
        problems: [String],
        gpu: String?,
        gpuDifferences: [String]
    ) {
        self.name = name
        self.architecture = architecture
        self.parameters = parameters
        self.layers = layers
        self.contextSize = contextSize
        self.vocabularySize = vocabularySize
        self.quantisation = quantisation
        self.supportsFunctionCalling = supportsFunctionCalling
        self.functionCallParser = functionCallParser
        self.supportsReasoning = supportsReasoning
        self.supportsImages = supportsImages
        self.supportsAudio = supportsAudio
        self.supportsSpeech = supportsSpeech
        self.memoryEstimate = memoryEstimate
        self.visionMemory = visionMemory
        self.hearingMemory = hearingMemory
        self.speechMemory = speechMemory
        self.unusedTensors = unusedTensors
        self.problems = problems
        self.gpu = gpu
        self.gpuDifferences = gpuDifferences
    }
}

/// How a sound is transcribed. The defaults are the same as in the original Whisper.
public struct TranscribeOptions: Equatable, Hashable, Sendable {
    /// The code of the language that is spoken, such as `en`. Default: the model detects it.
    public var language: String?
    /// Whether the words are translated. Default: they are not.
    public var task: SpeechTask?
    /// Text that may come before the sound: names and terms that occur, and the style of the transcript.
    public var prompt: String?
    /// Whether the text of a window is given to the next one, which keeps names and style, and sometimes repeats itself.
    public var usesPreviousText: Bool
    /// Whether the model writes times. Without them, a segment is a window of the sound.
    public var hasTimes: Bool
    /// Whether each word gets its times.
    public var hasWordTimes: Bool
    /// Temperatures, of which the next is tried while the text is not good enough by the thresholds. 0 picks the most probable
    /// token. Default: 0, 0.2, 0.4, 0.6, 0.8 and 1.
    public var temperatures: [Float]?
    /// A text whose size divided by its compressed size is larger repeats itself; infinity for no limit. Default 2.4.
    public var compressionRatioThreshold: Float?
    /// A text with a lower mean of its tokens' log-probabilities is not good enough; minus infinity for no limit. Default -1.
    public var logprobThreshold: Float?
    /// A window whose probability of no speech is larger, and whose text is not probable enough, is silent; infinity for no limit.
    /// Default 0.6.
    public var noSpeechThreshold: Float?
    /// The seed of temperatures above 0. Default 0.
    public var seed: UInt64?

    /// Creates a value of its parts.
    public init(
        language: String? = nil,
        task: SpeechTask? = nil,
        prompt: String? = nil,
        usesPreviousText: Bool = true,
        hasTimes: Bool = true,
        hasWordTimes: Bool = false,
        temperatures: [Float]? = nil,
        compressionRatioThreshold: Float? = nil,
        logprobThreshold: Float? = nil,
        noSpeechThreshold: Float? = nil,
        seed: UInt64? = nil
    ) {
        self.language = language
        self.task = task
        self.prompt = prompt
        self.usesPreviousText = usesPreviousText
        self.hasTimes = hasTimes
        self.hasWordTimes = hasWordTimes
        self.temperatures = temperatures
        self.compressionRatioThreshold = compressionRatioThreshold
        self.logprobThreshold = logprobThreshold
        self.noSpeechThreshold = noSpeechThreshold
        self.seed = seed
    }

    /// Returns these options with one changed.
    public func with<Value>(_ option: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
        var options = self
        options[keyPath: option] = value
        return options
    }
}

/// Options for loading a transcriber.
public struct TranscriberOptions: Equatable, Hashable, Sendable {
    /// The device that computes. Default: the CPU.
    public var device: Device?
    /// Number of computing threads, 1 to 1024. Results do not depend on it. Default: the number of fast cores.
    public var threads: Int?
    /// The storage format of the decoder's keys and values. Default: F16.
    public var cacheType: CacheType?
    /// Stores the matrices of a model that is not quantised in this type, which makes it smaller and faster. Default: as in the
    /// files.
    public var quantize: GgufType?

    /// Creates a value of its parts.
    public init(
        device: Device? = nil,
        threads: Int? = nil,
        cacheType: CacheType? = nil,
        quantize: GgufType? = nil
    ) {
        self.device = device
        self.threads = threads
        self.cacheType = cacheType
        self.quantize = quantize
    }

    /// Returns these options with one changed.
    public func with<Value>(_ option: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
        var options = self
        options[keyPath: option] = value
        return options
    }
}

/// The text of a sound.
public struct Transcript: Equatable, Hashable, Sendable {
    /// The texts of all segments, one after the other, without white space around.
    public var text: String
    /// The code of the language that is spoken.
    public var language: String
    /// How long the sound plays, in seconds.
    public var duration: Double
    /// The parts of the text, in order.
    public var segments: [TranscriptSegment]
    /// Whether the transcription was cancelled; the segments are those before.
    public var wasCancelled: Bool

    /// Creates a value of its parts.
    public init(
        text: String,
        language: String,
        duration: Double,
        segments: [TranscriptSegment],
        wasCancelled: Bool
    ) {
        self.text = text
        self.language = language
        self.duration = duration
        self.segments = segments
        self.wasCancelled = wasCancelled
    }
}

/// A part of a transcript: a sentence, or a part of one.
public struct TranscriptSegment: Equatable, Hashable, Sendable {
    /// When it begins, in seconds.
    public var start: Double
    /// When it ends, in seconds.
    public var end: Double
    /// The text, mostly with a space before it.
    public var text: String
    /// The tokens of the text, with the tokens of its times.
    public var tokens: [Int]
    /// The mean of the log-probabilities of the window's tokens.
    public var avgLogprob: Float
    /// The probability that nobody speaks in the window.
    public var noSpeechProb: Float
    /// The size of the window's text divided by its compressed size.
    public var compressionRatio: Float
    /// The temperature that the text was written with.
    public var temperature: Float
    /// The words with their times, if they were requested.
    public var words: [TranscriptWord]

    /// Creates a value of its parts.
    public init(
        start: Double,
        end: Double,
        text: String,
        tokens: [Int],
        avgLogprob: Float,
        noSpeechProb: Float,
        compressionRatio: Float,
        temperature: Float,
        words: [TranscriptWord]
    ) {
        self.start = start
        self.end = end
        self.text = text
        self.tokens = tokens
        self.avgLogprob = avgLogprob
        self.noSpeechProb = noSpeechProb
        self.compressionRatio = compressionRatio
        self.temperature = temperature
        self.words = words
    }
}

/// A word with its times.
public struct TranscriptWord: Equatable, Hashable, Sendable {
    /// The word, mostly with a space before it.
    public var word: String
    /// When it begins, in seconds.
    public var start: Double
    /// When it ends, in seconds.
    public var end: Double
    /// The mean probability of its tokens.
    public var probability: Float

    /// Creates a value of its parts.
    public init(
        word: String,
        start: Double,
        end: Double,
        probability: Float
    ) {
        self.word = word
        self.start = start
        self.end = end
        self.probability = probability
    }
}

/// A header of a request or of an answer.
public struct HttpHeader: Equatable, Hashable, Sendable {
    /// The name, in any case.
    public var name: String
    /// The value.
    public var value: String

    /// Creates a value of its parts.
    public init(
        name: String,
        value: String
    ) {
        self.name = name
        self.value = value
    }
}

/// A GET request. Its headers may contain a token.
public struct HttpRequest: Equatable, Hashable, Sendable {
    /// The whole address.
    public var url: String
    /// The headers to send.
    public var headers: [HttpHeader]

    /// Creates a value of its parts.
    public init(
        url: String,
        headers: [HttpHeader]
    ) {
        self.url = url
        self.headers = headers
    }
}

/// The answers that a question allows.
public enum DecisionKind: Equatable, Hashable, Sendable {
    /// Yes or no.
    case predicate(yes: String? = nil, no: String? = nil)
    /// One of 1 to 255 labels.
    case choice(choices: [DecisionLabel])
    /// A number from 0 on: one of 2 to 100 levels, the lowest first.
    case score(levels: [DecisionLabel])
}

/// What was decided. Probabilities are those among the labels: their sum is 1. `confidence` is 0 if all labels are equally probable,
/// and 1 if one is certain.
public enum DecisionOutcome: Equatable, Hashable, Sendable {
    /// The answer to a question that is answered by yes or no.
    case predicate(probability: Double)
    /// The answer to a choice.
    case choice(choice: String, index: Int, confidence: Double, probabilities: [LabelProbability])
    /// The answer to a score.
    case score(score: Double, confidence: Double, probabilities: [LabelProbability])
}

/// What questions are about.
public enum DecisionState: Equatable, Hashable, Sendable {
    /// Text; nothing if it is empty.
    case text(text: String)
    /// A JSON value, which the model is shown over several lines.
    case json(json: String)
    /// Messages, which may have images. Of messages of users alone, the contents count; of others, each begins with its author.
    case messages(messages: [ChatMessage])
}

/// What a text is used for. Many models put a prompt before queries, before documents, or before both.
public enum TextUse: Equatable, Hashable, Sendable {
    /// The prompt that the model's files name as the default, if they name one.
    case unspecified
    /// A question, or another text that something is searched with.
    case query
    /// A text that is searched.
    case document
}

/// What can go wrong. `reason` is one readable line.
public enum SdkError: Error, Equatable, Hashable, Sendable {
    /// There is no model at the given path.
    case ModelNotFound(reason: String)
    /// The model's files are unreadable, damaged, incomplete or of an unknown kind.
    case ModelLoad(reason: String)
    /// The model needs more memory than the system gives to this process: `needed` and `available` are bytes.
    case OutOfMemory(reason: String, needed: UInt64, available: UInt64)
    /// The app cancelled loading.
    case LoadCancelled(reason: String)
    /// The model was unloaded. Its conversations can be read, but not continued.
    case ModelUnloaded(reason: String)
    /// The conversation is generating a reply: wait for its end or cancel it.
    case Busy(reason: String)
    /// The stream was already read.
    case StreamAlreadyConsumed(reason: String)
    /// The prompt does not fit the context with at least one token of reply.
    case PromptExceedsContext(reason: String, needed: Int, available: Int)
    /// An option is out of its range. `option` is its name.
    case InvalidOption(reason: String, option: String)
    /// A message is not valid at its position.
    case InvalidMessage(reason: String)
    /// The definition of a function breaks a rule.
    case InvalidFunction(reason: String)
    /// An argument or a reply does not fit its type. `argument` is its path.
    case InvalidArgument(reason: String, argument: String)
    /// Functions are registered, but the model's chat template does not support them.
    case FunctionCallingUnsupported(reason: String)
    /// The model does not support content parts of this kind.
    case UnsupportedContent(reason: String)
    /// The computation failed.
    case Generation(reason: String)
    /// Text does not have the expected data format.
    case Serialization(reason: String)
    /// A saved session cannot be restored. `fault` is `file`, `version`, `model` or `corrupt`.
    case Session(reason: String, fault: String)
    /// A model cannot be downloaded. `fault` is one of the codes of the core's `DownloadFault`, such as `network`.
    case Download(reason: String, fault: String, isRetryable: Bool)
    /// A fault in causerie itself, which was caught.
    case Internal(reason: String)

    /// The kind of an error: the name of its case in lower camel case.
    ///
    /// ```swift
    /// do {
    ///     runner = try await loadModel(path: path)
    /// } catch SdkError.modelNotFound {
    ///     askForAModel()
    /// }
    /// ```
    ///
    /// A `switch` over errors may name kinds as well: `case .busy:`. What an error holds besides, the case itself gives:
    /// `catch SdkError.OutOfMemory(_, let needed, _)`.
    public enum Kind: String, CaseIterable, Sendable {
        /// The kind of ``SdkError/ModelNotFound(reason:)``.
        case modelNotFound
        /// The kind of ``SdkError/ModelLoad(reason:)``.
        case modelLoad
        /// The kind of ``SdkError/OutOfMemory(reason:needed:available:)``.
        case outOfMemory
        /// The kind of ``SdkError/LoadCancelled(reason:)``.
        case loadCancelled
        /// The kind of ``SdkError/ModelUnloaded(reason:)``.
        case modelUnloaded
        /// The kind of ``SdkError/Busy(reason:)``.
        case busy
        /// The kind of ``SdkError/StreamAlreadyConsumed(reason:)``.
        case streamAlreadyConsumed
        /// The kind of ``SdkError/PromptExceedsContext(reason:needed:available:)``.
        case promptExceedsContext
        /// The kind of ``SdkError/InvalidOption(reason:option:)``.
        case invalidOption
        /// The kind of ``SdkError/InvalidMessage(reason:)``.
        case invalidMessage
        /// The kind of ``SdkError/InvalidFunction(reason:)``.
        case invalidFunction
        /// The kind of ``SdkError/InvalidArgument(reason:argument:)``.
        case invalidArgument
        /// The kind of ``SdkError/FunctionCallingUnsupported(reason:)``.
        case functionCallingUnsupported
        /// The kind of ``SdkError/UnsupportedContent(reason:)``.
        case unsupportedContent
        /// The kind of ``SdkError/Generation(reason:)``.
        case generation
        /// The kind of ``SdkError/Serialization(reason:)``.
        case serialization
        /// The kind of ``SdkError/Session(reason:fault:)``.
        case session
        /// The kind of ``SdkError/Download(reason:fault:isRetryable:)``.
        case download
        /// The kind of ``SdkError/Internal(reason:)``.
        case `internal`
    }

    /// The kind of this error.
    public var kind: Kind {
        switch self {
        case .ModelNotFound: .modelNotFound
        case .ModelLoad: .modelLoad
        case .OutOfMemory: .outOfMemory
        case .LoadCancelled: .loadCancelled
        case .ModelUnloaded: .modelUnloaded
        case .Busy: .busy
        case .StreamAlreadyConsumed: .streamAlreadyConsumed
        case .PromptExceedsContext: .promptExceedsContext
        case .InvalidOption: .invalidOption
        case .InvalidMessage: .invalidMessage
        case .InvalidFunction: .invalidFunction
        case .InvalidArgument: .invalidArgument
        case .FunctionCallingUnsupported: .functionCallingUnsupported
        case .UnsupportedContent: .unsupportedContent
        case .Generation: .generation
        case .Serialization: .serialization
        case .Session: .session
        case .Download: .download
        case .Internal: .internal
        }
    }

    /// One readable line.
    public var description: String {
        switch self {
        case .ModelNotFound(let reason): reason
        case .ModelLoad(let reason): reason
        case .OutOfMemory(let reason, _, _): reason
        case .LoadCancelled(let reason): reason
        case .ModelUnloaded(let reason): reason
        case .Busy(let reason): reason
        case .StreamAlreadyConsumed(let reason): reason
        case .PromptExceedsContext(let reason, _, _): reason
        case .InvalidOption(let reason, _): reason
        case .InvalidMessage(let reason): reason
        case .InvalidFunction(let reason): reason
        case .InvalidArgument(let reason, _): reason
        case .FunctionCallingUnsupported(let reason): reason
        case .UnsupportedContent(let reason): reason
        case .Generation(let reason): reason
        case .Serialization(let reason): reason
        case .Session(let reason, _): reason
        case .Download(let reason, _, _): reason
        case .Internal(let reason): reason
        }
    }

    /// The kind of ``SdkError/ModelNotFound(reason:)``, for patterns.
    public static var modelNotFound: Kind { .modelNotFound }
    /// Creates a ``SdkError/ModelNotFound(reason:)``.
    public static func modelNotFound(reason: String) -> SdkError {
        .ModelNotFound(reason: reason)
    }

    /// The kind of ``SdkError/ModelLoad(reason:)``, for patterns.
    public static var modelLoad: Kind { .modelLoad }
    /// Creates a ``SdkError/ModelLoad(reason:)``.
    public static func modelLoad(reason: String) -> SdkError {
        .ModelLoad(reason: reason)
    }

    /// The kind of ``SdkError/OutOfMemory(reason:needed:available:)``, for patterns.
    public static var outOfMemory: Kind { .outOfMemory }
    /// Creates a ``SdkError/OutOfMemory(reason:needed:available:)``.
    public static func outOfMemory(reason: String, needed: UInt64, available: UInt64) -> SdkError {
        .OutOfMemory(reason: reason, needed: needed, available: available)
    }

    /// The kind of ``SdkError/LoadCancelled(reason:)``, for patterns.
    public static var loadCancelled: Kind { .loadCancelled }
    /// Creates a ``SdkError/LoadCancelled(reason:)``.
    public static func loadCancelled(reason: String) -> SdkError {
        .LoadCancelled(reason: reason)
    }

    /// The kind of ``SdkError/ModelUnloaded(reason:)``, for patterns.
    public static var modelUnloaded: Kind { .modelUnloaded }
    /// Creates a ``SdkError/ModelUnloaded(reason:)``.
    public static func modelUnloaded(reason: String) -> SdkError {
        .ModelUnloaded(reason: reason)
    }

    /// The kind of ``SdkError/Busy(reason:)``, for patterns.
    public static var busy: Kind { .busy }
    /// Creates a ``SdkError/Busy(reason:)``.
    public static func busy(reason: String) -> SdkError {
        .Busy(reason: reason)
    }

    /// The kind of ``SdkError/StreamAlreadyConsumed(reason:)``, for patterns.
    public static var streamAlreadyConsumed: Kind { .streamAlreadyConsumed }
    /// Creates a ``SdkError/StreamAlreadyConsumed(reason:)``.
    public static func streamAlreadyConsumed(reason: String) -> SdkError {
        .StreamAlreadyConsumed(reason: reason)
    }

    /// The kind of ``SdkError/PromptExceedsContext(reason:needed:available:)``, for patterns.
    public static var promptExceedsContext: Kind { .promptExceedsContext }
    /// Creates a ``SdkError/PromptExceedsContext(reason:needed:available:)``.
    public static func promptExceedsContext(reason: String, needed: Int, available: Int) -> SdkError {
        .PromptExceedsContext(reason: reason, needed: needed, available: available)
    }

    /// The kind of ``SdkError/InvalidOption(reason:option:)``, for patterns.
    public static var invalidOption: Kind { .invalidOption }
    /// Creates a ``SdkError/InvalidOption(reason:option:)``.
    public static func invalidOption(reason: String, option: String) -> SdkError {
        .InvalidOption(reason: reason, option: option)
    }

    /// The kind of ``SdkError/InvalidMessage(reason:)``, for patterns.
    public static var invalidMessage: Kind { .invalidMessage }
    /// Creates a ``SdkError/InvalidMessage(reason:)``.
    public static func invalidMessage(reason: String) -> SdkError {
        .InvalidMessage(reason: reason)
    }

    /// The kind of ``SdkError/InvalidFunction(reason:)``, for patterns.
    public static var invalidFunction: Kind { .invalidFunction }
    /// Creates a ``SdkError/InvalidFunction(reason:)``.
    public static func invalidFunction(reason: String) -> SdkError {
        .InvalidFunction(reason: reason)
    }

    /// The kind of ``SdkError/InvalidArgument(reason:argument:)``, for patterns.
    public static var invalidArgument: Kind { .invalidArgument }
    /// Creates a ``SdkError/InvalidArgument(reason:argument:)``.
    public static func invalidArgument(reason: String, argument: String) -> SdkError {
        .InvalidArgument(reason: reason, argument: argument)
    }

    /// The kind of ``SdkError/FunctionCallingUnsupported(reason:)``, for patterns.
    public static var functionCallingUnsupported: Kind { .functionCallingUnsupported }
    /// Creates a ``SdkError/FunctionCallingUnsupported(reason:)``.
    public static func functionCallingUnsupported(reason: String) -> SdkError {
        .FunctionCallingUnsupported(reason: reason)
    }

    /// The kind of ``SdkError/UnsupportedContent(reason:)``, for patterns.
    public static var unsupportedContent: Kind { .unsupportedContent }
    /// Creates a ``SdkError/UnsupportedContent(reason:)``.
    public static func unsupportedContent(reason: String) -> SdkError {
        .UnsupportedContent(reason: reason)
    }

    /// The kind of ``SdkError/Generation(reason:)``, for patterns.
    public static var generation: Kind { .generation }
    /// Creates a ``SdkError/Generation(reason:)``.
    public static func generation(reason: String) -> SdkError {
        .Generation(reason: reason)
    }

    /// The kind of ``SdkError/Serialization(reason:)``, for patterns.
    public static var serialization: Kind { .serialization }
    /// Creates a ``SdkError/Serialization(reason:)``.
    public static func serialization(reason: String) -> SdkError {
        .Serialization(reason: reason)
    }

    /// The kind of ``SdkError/Session(reason:fault:)``, for patterns.
    public static var session: Kind { .session }
    /// Creates a ``SdkError/Session(reason:fault:)``.
    public static func session(reason: String, fault: String) -> SdkError {
        .Session(reason: reason, fault: fault)
    }

    /// The kind of ``SdkError/Download(reason:fault:isRetryable:)``, for patterns.
    public static var download: Kind { .download }
    /// Creates a ``SdkError/Download(reason:fault:isRetryable:)``.
    public static func download(reason: String, fault: String, isRetryable: Bool) -> SdkError {
        .Download(reason: reason, fault: fault, isRetryable: isRetryable)
    }

    /// The kind of ``SdkError/Internal(reason:)``, for patterns.
    public static var `internal`: Kind { .`internal` }
    /// Creates a ``SdkError/Internal(reason:)``.
    public static func `internal`(reason: String) -> SdkError {
        .Internal(reason: reason)
    }
}

/// The type of a parameter, translated to JSON Schema for the model. Its description is used only where the type is nested.
public indirect enum SdkFunctionParameterType: Equatable, Hashable, Sendable {
    /// A string.
    case sdkStr(enumValues: [String]? = nil, description: String? = nil)
    /// A number.
    case sdkNum(enumValues: [Double]? = nil, description: String? = nil)
    /// An integer.
    case sdkInt(enumValues: [Int64]? = nil, description: String? = nil)
    /// A boolean.
    case sdkBool(description: String? = nil)
    /// An array.
    case sdkArr(itemType: SdkFunctionParameterType, description: String? = nil)
    /// An object.
    case sdkObj(properties: [String: SdkFunctionParameterType], required: [String] = [], description: String? = nil)
    /// Null.
    case sdkNull
}

/// The severity of a diagnostic.
public enum Severity: Equatable, Hashable, Sendable {
    /// The value was converted and now fits.
    case coerced
    /// There is nothing to compare with; the app decides.
    case warning
    /// The value does not fit.
    case error
}

/// An event of a download.
public enum PullEvent: Equatable, Hashable, Sendable {
    /// Progress, at most ten times a second.
    case progress(progress: PullProgress)
    /// The last event: the model is downloaded.
    case ready(path: String)
}

/// What a download is doing.
public enum PullState: Equatable, Hashable, Sendable {
    /// The hub is asked which files the name means.
    case resolving
    /// Another process downloads the same file, or the server has to be asked again later.
    case waiting
    /// Bytes arrive.
    case downloading
    /// The content of a file is checked.
    case verifying
    /// The model can be loaded.
    case ready
}

/// The importance of a log record.
public enum LogLevel: Equatable, Hashable, Sendable {
    /// Something failed.
    case error
    /// Something is not as the app requested it.
    case warning
    /// Something that a developer may want to know.
    case info
    /// Details.
    case debug
}

/// One part of a message.
public enum ChatMessageContent: Equatable, Hashable, Sendable {
    /// Text.
    case text(text: String)
    /// A JPEG, PNG, WebP or GIF file.
    case image(data: Data)
    /// A WAV file.
    case audio(data: Data)
}

/// The author of a message.
public enum ChatMessageRole: Equatable, Hashable, Sendable {
    /// Instructions for the conversation; the first message, or absent.
    case system
    /// The user.
    case user
    /// The model.
    case assistant
    /// The result of a function call.
    case tool
}

/// The storage format of keys and values.
public enum CacheType: Equatable, Hashable, Sendable {
    /// Half the memory and traffic of F32; other engines use it too.
    case f16
    /// For comparisons with references to the last digit.
    case f32
    /// Bytes with a scale for each 32 values of a head: little more than half of F16, for long contexts. It is coarser;
    /// how much a model loses by it has to be measured.
    case q80
}

/// Treatment of a history that does not fit the context.
public enum ContextPolicy: Equatable, Hashable, Sendable {
    /// The reply fails.
    case error
    /// The prompt omits whole turns, the oldest first.
    case slide(shrinkToolResults: Bool)
}

/// The device that a model is computed on.
public enum Device: Equatable, Hashable, Sendable {
    /// The CPU.
    case cpu
    /// A GPU, by Vulkan, Metal or DX12; pictures and sound are still computed on the CPU. Requires a build with the
    /// feature `gpu`; in other builds, loading fails with the error `InvalidOption`, and so it does without a GPU.
    /// docs/gpu.md says what was tried on what.
    case gpu
    /// A GPU if there is one that computes the model and has memory for it, otherwise the CPU; the choice is logged. On
    /// phones and in builds without the feature `gpu`, the CPU.
    case auto
    /// As `Gpu`, by an earlier name. In builds with the feature `metal` and without `gpu`, the GPU of an Apple device by
    /// candle's tensors.
    case metal
}

/// The notation of function calls.
public enum FunctionCallParser: Equatable, Hashable, Sendable {
    /// The notation that the loaded model writes.
    case model
    /// Python-style calls between the control tokens `<|tool_call_start|>` and `<|tool_call_end|>`, as LFM2 writes them.
    case `default`
    /// JSON objects between `<tool_call>` and `</tool_call>`, as Qwen2.5, Qwen3 and Granite 4 write them.
    case jsonStyle
    /// `<function=…>` with `<parameter=…>` tags between `<tool_call>` and `</tool_call>`, as LFM3, Qwen3.5 and Qwen3-Coder
    /// write them. Values are raw text, which is read as the type that the function declares.
    case xml
    /// `call:name{…}` between control tokens, as FunctionGemma and Gemma 4 write it.
    case gemma
    /// Calls after the control token `[TOOL_CALLS]`, as Mistral's models write them: a list of JSON objects, or a name and
    /// `[ARGS]` before an object.
    case mistral
    /// JSON objects with `parameters` as the whole reply, as Llama 3 writes them.
    case llama
    /// A list of JSON objects between the control tokens `<|tool_call|>` and `<|/tool_call|>`, as Phi-4-mini writes it.
    case phi
    /// Python-style calls between `<code>` and `</code>`, one in a line, as SmolLM3 writes them for `python_tools`.
    case code
    /// A list of JSON objects after the word `functools`, as Phi-4-mini writes it if its system message asks for it.
    case functools
}

/// Which names functions may have. Identifiers are recommended, which are letters, digits and `_` without a digit in front:
/// models write them best.
public enum FunctionNames: Equatable, Hashable, Sendable {
    /// Letters, digits, `_` and `-`, at most 200: `create_event`, `get-weather`, `21st_magic_builder`.
    case plain
    /// Also several such names joined by dots: `calendar.create_event`.
    case dotted
}

/// How a conversation handles a request while it is generating another reply.
public enum OnBusy: Equatable, Hashable, Sendable {
    /// Fails with the error `Busy`.
    case error
    /// Puts the request in a queue, in the order of the first pulls of the streams, and answers it when the earlier
    /// replies have ended.
    case queue
    /// Cancels all earlier requests, and answers this one when they have ended.
    case replace
}

/// What remains of a cancelled reply in the history. A reply cancelled in the request queue leaves nothing.
public enum OnCancel: Equatable, Hashable, Sendable {
    /// Keeps the text so far, if any, marked as incomplete.
    case keepPartial
    /// Keeps the user's message, drops the reply.
    case dropPartial
    /// Drops the reply and the message that it answers.
    case dropTurn
}

/// Whether, and in which order, a model that speaks gives text and sound.
public enum SpeechMode: Equatable, Hashable, Sendable {
    /// As the system prompt asks: interleaved after `Respond with interleaved text and audio.`, sequential otherwise.
    case auto
    /// Text alone.
    case off
    /// Text, until the model begins to speak: to read a text aloud, or to answer in text.
    case sequential
    /// A few words and their sound in turn: to talk.
    case interleaved
}

/// A voice in which published models read a text aloud: the prompt asks for it.
public enum SpeechVoice: Equatable, Hashable, Sendable {
    /// American English.
    case usMale
    /// American English.
    case usFemale
    /// British English.
    case ukMale
    /// British English.
    case ukFemale
}

/// How calls are handled that can be read only after a repair.
public enum Strictness: Equatable, Hashable, Sendable {
    /// They are delivered, with a list of the repairs.
    case recover
    /// They are rejected, with the repaired call as candidate.
    case strict
}

/// Whether calls are constrained to the declared functions during generation.
public enum ToolCallConstraint: Equatable, Hashable, Sendable {
    /// Calls are not constrained, but validated afterwards. A required call is constrained all the same.
    case off
    /// Once the model begins a block of calls, it can only write calls of declared functions, with arguments of the
    /// declared names and types. Each argument is written once, the required ones always. The content of strings is free.
    /// If no allowed token can be generated, the reply ends with the reason `Constraint`.
    case typed
}

/// Whether functions are called.
public enum ToolChoice: Equatable, Hashable, Sendable {
    /// The model decides.
    case auto
    /// No function is called; the prompt still offers them.
    case none
    /// The reply begins with a call.
    case required
    /// The reply begins with a call of this function and calls no other.
    case function(name: String)
}

/// How packed weights come into memory: the ones in the folder of the load options, or in a bundle that was made with
/// them. Weights that are not packed are always converted into memory. Default: mapped on iOS and Android, `Auto`
/// elsewhere.
public enum WeightMemory: Equatable, Hashable, Sendable {
    /// They stay in the file, which is mapped: loading copies nothing, the memory counts as the system's, and processes
    /// share it. If another program truncates the file, the process ends on Unix; docs/packed-weights.md says more.
    case mapped
    /// They are read into memory of the process, and the file is not used any more.
    case copied
    /// They are mapped, and copied to large pages while no reply runs, if there is enough free memory: replies are written
    /// faster from these.
    case auto
}

/// Why a reply ended.
public enum FinishReason: Equatable, Hashable, Sendable {
    /// The model ended its turn, or a stop sequence was met.
    case stop
    /// The model ended its turn, and at least one call was delivered.
    case toolCalls
    /// The maximum number of tokens was written.
    case maxTokens
    /// The context is full.
    case exceedContext
    /// Cancelled, or out of time.
    case interrupted
    /// The reply could not continue under its constraint.
    case constraint
}

/// A section of a reply.
public enum ReplySection: Equatable, Hashable, Sendable {
    /// Text.
    case text
    /// Reasoning.
    case reasoning
    /// A block of calls.
    case calls
}

/// What loading a model does.
public enum LoadPhase: Equatable, Hashable, Sendable {
    /// Packed weights are written into the folder of the app.
    case packing
    /// The weights are read into memory.
    case reading
    /// Packed weights are mapped.
    case mapping
    /// The model is loaded.
    case ready
}

/// A format of sound, with 16 bits for each sample of one channel.
public enum SoundFormat: Equatable, Hashable, Sendable {
    /// A WAV file.
    case wav
    /// A FLAC file: about half as large, without loss.
    case flac
    /// The samples alone, with the lower byte first.
    case pcm
}

/// A type of weights.
public enum GgufType: Equatable, Hashable, Sendable {
    /// 8.5 bits per weight: hardly distinguishable from the original.
    case q80
    /// 6.6 bits per weight.
    case q6k
    /// 5.7 bits per weight.
    case q5km
    /// 4.8 bits per weight.
    case q4km
    /// 4.5 bits per weight.
    case q40
}

/// What is written of what is heard.
public enum SpeechTask: Equatable, Hashable, Sendable {
    /// The words in their own language.
    case transcribe
    /// The words in English.
    case translate
}

/// An event of a transcription. The last one is `Complete`, or an error.
public enum TranscriptEvent: Equatable, Hashable, Sendable {
    /// The language that is spoken.
    case language(code: String, probability: Float)
    /// The text after the last segment so far. It replaces the one before, and may still change.
    case partial(text: String)
    /// A segment, which does not change any more.
    case segment(segment: TranscriptSegment)
    /// The whole transcript, which comes last.
    case complete(transcript: Transcript)
}
