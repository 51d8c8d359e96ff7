extension ChatMessage {
    /// Creates a message of one text part.
    ///
    /// - Parameters:
    ///   - role: the role of the message.
    ///   - textContent: the text. For the role ``ChatMessageRole/tool``, this is the result of a function, for example
    ///     JSON text.
    public init(role: ChatMessageRole, textContent: String) {
        self.init(role: role, content: [.text(text: textContent)])
    }

    /// The text of all parts, joined.
    public var text: String {
        content.map { part in
            if case .text(let text) = part { text } else { "" }
        }.joined()
    }
}

extension ChatMessage: Codable {
    /// Reads a message that was encoded, or that is the JSON text of a chat-completions message.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let messages = try messagesFromJson(text: "[\(try container.decode(String.self))]")
        guard messages.count == 1 else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "must be one message")
        }
        self = messages[0]
    }

    /// Encodes the message as a string: the JSON text that ``messagesToJson(messages:)`` gives it. Encoders do not keep the order of
    /// members, on which the prompt depends.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(String(messagesToJson(messages: [self]).dropFirst().dropLast()))
    }
}

extension ChatMessageContent {
    /// A text part.
    public static func text(_ text: String) -> Self { .text(text: text) }
}
