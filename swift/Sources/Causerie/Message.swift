extension ChatMessage {
    /// A message of text.
    ///
    /// - Parameters:
    ///   - role: who speaks.
    ///   - textContent: the text; of a message with the role ``ChatMessageRole/tool``, the result of a function, for
    ///     example as JSON text.
    public init(role: ChatMessageRole, textContent: String) {
        self.init(role: role, content: [.text(text: textContent)])
    }

    /// The text of all parts together.
    public var text: String {
        content.map { part in
            if case .text(let text) = part { text } else { "" }
        }.joined()
    }
}

extension ChatMessageContent {
    /// A part of text.
    public static func text(_ text: String) -> Self { .text(text: text) }
}
