extension GenerationOptions {
    /// The model's own defaults, and the default parser.
    ///
    /// ```swift
    /// var options = GenerationOptions()
    /// options.maxTokens = 64
    /// options.functionCallParser = nil  // call text arrives as chunks
    /// ```
    public init() {
        self.init(functionCallParser: DefaultFunctionCallParser())
    }

    /// These options with one of them changed: `GenerationOptions().with(\.temperature, 0).with(\.maxTokens, 64)`.
    public func with<Value>(_ option: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
        var options = self
        options[keyPath: option] = value
        return options
    }
}

extension LoadOptions {
    /// These options with one of them changed: `LoadOptions().with(\.contextSize, 4096)`.
    public func with<Value>(_ option: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
        var options = self
        options[keyPath: option] = value
        return options
    }
}

extension GenerationOptions {
    /// Refuses numbers below zero, of which the border knows none.
    func check() throws {
        try checkCount(topK, "top_k")
        try checkCount(logitBias?.keys.min(), "logit_bias", expected: "ids of tokens")
        try checkCount(logprobs, "logprobs", expected: "0 to 20")
        try checkCount(maxTokens, "max_tokens", expected: "1 or more")
    }
}

extension LoadOptions {
    /// The same for these.
    func check() throws {
        try checkCount(contextSize, "context_size", expected: "1 or more")
        try checkCount(threads, "threads", expected: "1 to 1024")
        try checkCount(cacheEntries, "cache_entries")
        try checkCount(generationDefaults?.topK, "top_k")
    }
}

/// Refuses a number below zero, in the words of the engine.
func checkCount(_ count: Int?, _ option: String, expected: String = "0 or more") throws {
    guard let count, count < 0 else { return }
    throw SdkError.InvalidOption(reason: "\(option) is \(count), expected \(expected)", option: option)
}
