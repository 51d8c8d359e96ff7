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

/// A limit as the engine takes it: a negative one is none.
func limit(_ count: Int) -> UInt32 {
    count < 0 ? .max : UInt32(clamping: count)
}
