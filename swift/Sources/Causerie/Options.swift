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
