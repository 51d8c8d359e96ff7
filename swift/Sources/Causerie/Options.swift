extension GenerationOptions {
    /// The model's defaults, and the notation of calls that the model writes.
    ///
    /// ```swift
    /// var options = GenerationOptions()
    /// options.maxTokens = 64
    /// options.functionCallParser = nil  // call text arrives as chunks
    /// ```
    public init() {
        self.init(functionCallParser: ModelFunctionCallParser())
    }

    /// Returns these options with one changed: `GenerationOptions().with(\.temperature, 0).with(\.maxTokens, 64)`.
    public func with<Value>(_ option: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
        var options = self
        options[keyPath: option] = value
        return options
    }
}

extension LoadOptions {
    /// Returns these options with one changed: `LoadOptions().with(\.contextSize, 4096)`.
    public func with<Value>(_ option: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
        var options = self
        options[keyPath: option] = value
        return options
    }
}

extension GenerationOptions {
    /// Refuses negative counts, which the generated code could not pass to the engine.
    func check() throws {
        try checkCount(topK, "topK")
        try checkCount(logitBias?.keys.min(), "logitBias", expected: "token ids")
        try checkCount(logprobs, "logprobs", expected: "between 0 and 20")
        try checkCount(maxTokens, "maxTokens", expected: "1 or more")
    }
}

extension LoadOptions {
    /// Refuses negative counts.
    func check() throws {
        try checkCount(contextSize, "contextSize", expected: "1 or more")
        try checkCount(threads, "threads", expected: "between 1 and 1024")
        try checkCount(generationDefaults?.topK, "topK")
    }
}

/// Refuses a negative count, with the message of the engine.
func checkCount(_ count: Int?, _ option: String, expected: String = "0 or more") throws {
    guard let count, count < 0 else { return }
    throw SdkError.InvalidOption(reason: "\(option) must be \(expected), found \(count)", option: option)
}

/// A text that begins with the name of an option, with the name as it is spelled in Swift: `max_tokens` becomes `maxTokens`.
func spelled(_ text: String) -> String {
    let name = text.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
    let words = name.split(separator: "_")
    return words.prefix(1).joined() + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        + text.dropFirst(name.count)
}
