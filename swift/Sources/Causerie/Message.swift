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

extension ChatMessageContent {
    /// A text part.
    public static func text(_ text: String) -> Self { .text(text: text) }
}
