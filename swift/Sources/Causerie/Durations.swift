// Times as `Duration`, beside the numbers that they are for older systems.

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension GenerationOptions {
    /// The time after which the reply is cancelled: ``timeoutMilliseconds`` as a duration. Never when `nil`.
    public var timeout: Duration? {
        get { timeoutMilliseconds.map(Duration.milliseconds) }
        set { timeoutMilliseconds = newValue?.wholeMilliseconds }
    }
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension FunctionHandlers {
    /// The time that a function may take: ``timeLimit`` as a duration.
    public var timeout: Duration? {
        get { timeLimit.map(Duration.seconds) }
        set { timeLimit = newValue.map { $0 / .seconds(1) } }
    }
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension HubOptions {
    /// The time without a byte after which a request fails: ``idleTimeoutMilliseconds`` as a duration.
    public var idleTimeout: Duration? {
        get { idleTimeoutMilliseconds.map(Duration.milliseconds) }
        set { idleTimeoutMilliseconds = newValue?.wholeMilliseconds }
    }

    /// The pause before the first repetition of a request: ``retryPauseMilliseconds`` as a duration.
    public var retryPause: Duration? {
        get { retryPauseMilliseconds.map(Duration.milliseconds) }
        set { retryPauseMilliseconds = newValue?.wholeMilliseconds }
    }
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension GenerationStats {
    /// The ``queueTime`` as a duration.
    public var queueDuration: Duration { .seconds(queueTime) }
    /// The ``timeToFirstToken`` as a duration.
    public var durationToFirstToken: Duration { .seconds(timeToFirstToken) }
    /// The ``prefillTime`` as a duration.
    public var prefillDuration: Duration { .seconds(prefillTime) }
    /// The ``decodeTime`` as a duration.
    public var decodeDuration: Duration { .seconds(decodeTime) }
    /// The ``constraintTime`` as a duration.
    public var constraintDuration: Duration { .seconds(constraintTime) }
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Duration {
    /// The duration in ISO 8601, such as `PT1H30M` and `PT0.5S`, to the nanosecond.
    var iso8601: String {
        let seconds = components.seconds.magnitude
        let fraction = String(components.attoseconds.magnitude / 1_000_000_000 + 1_000_000_000).dropFirst()
        let digits = fraction.reversed().drop { $0 == "0" }.reversed()
        var text = ""
        if seconds >= 3_600 { text += "\(seconds / 3_600)H" }
        if seconds / 60 % 60 > 0 { text += "\(seconds / 60 % 60)M" }
        let rest = "\(seconds % 60)" + (digits.isEmpty ? "" : ".\(String(digits))")
        if rest != "0" || text.isEmpty { text += "\(rest)S" }
        return (self < .zero ? "-PT" : "PT") + text
    }

    /// Milliseconds, rounded up, so that a short time does not become none. A negative duration is zero.
    fileprivate var wholeMilliseconds: UInt64 {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = components
        let thousandth: Int64 = 1_000_000_000_000_000
        let (whole, overflows) = UInt64(seconds).multipliedReportingOverflow(by: 1_000)
        let rest = UInt64((attoseconds + thousandth - 1) / thousandth)
        return overflows ? .max : whole &+ rest
    }
}
