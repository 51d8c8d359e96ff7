#if canImport(Darwin) || CAUSERIE_OBSERVATION
import Observation
#endif

/// A conversation for a screen: its messages with the reply as it grows, the draft of the next message, and what went wrong.
///
/// ```swift
/// struct ChatView: View {
///     @State var chat: ChatSession
///
///     var body: some View {
///         List(chat.messages.indices, id: \.self) { Text(chat.messages[$0].text) }
///         TextField("Message", text: $chat.draft).onSubmit { chat.send() }
///         if chat.isResponding { Button("Stop") { chat.stop() } }
///     }
/// }
/// ```
///
/// It belongs to the main actor. On Apple's platforms it is observable.
// The macro is left out on Linux, where a program that links the library Observation of some toolchains cannot be linked.
#if canImport(Darwin) || CAUSERIE_OBSERVATION
@Observable
#endif
@available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
@MainActor
public final class ChatSession {
    /// The conversation. While a reply is under way, nothing else may be sent to it.
    public let conversation: Conversation
    /// The messages of the history but its system message. While a reply is under way, the last one is what has been written of
    /// it; it is `incomplete`.
    public private(set) var messages: [ChatMessage]
    /// The text of the next message.
    public var draft = ""
    /// Whether a reply is under way.
    public private(set) var isResponding = false
    /// The error of the last reply, if it failed.
    public private(set) var error: (any Error)?
    /// The end of the last reply, with its counts and durations.
    public private(set) var completion: Completion?
    /// The options of replies; the model's defaults when `nil`.
    public var generationOptions: GenerationOptions?

    private var before: [ChatMessage] = []
    private var text = ""
    private let current = CurrentReply()
    private var reading: Task<Void, Never>?

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - conversation: the conversation, with its handlers.
    ///   - generationOptions: the options of replies; the model's defaults when `nil`.
    public init(_ conversation: Conversation, generationOptions: GenerationOptions? = nil) {
        self.conversation = conversation
        self.generationOptions = generationOptions
        messages = Self.visible(conversation.history)
    }

    /// Sends the draft, and empties it. A draft of blanks is not sent.
    public func send() {
        guard draft.contains(where: { !$0.isWhitespace }) else { return }
        send(draft)
        draft = ""
    }

    /// Sends a text of the user. A reply that is under way is stopped first.
    public func send(_ text: String) {
        send(.user(text))
    }

    /// Sends a message. A reply that is under way is stopped first.
    public func send(_ message: ChatMessage) {
        answer(message)
    }

    /// Generates the last reply anew: what came after the last message of the user is removed.
    public func regenerate() {
        answer(nil)
    }

    /// Stops the reply. What has been written of it stays, unless ``GenerationOptions/onCancel`` says otherwise.
    public func stop() {
        current.reply?.cancel()
    }

    /// Waits for the end of the reply, and of what was sent meanwhile.
    public func finish() async {
        while isResponding, let reading { await reading.value }
    }

    /// Replies to a message, or again to the last message of the user.
    private func answer(_ message: ChatMessage?) {
        stop()
        let earlier = reading
        // Nothing is sent before it is read.
        let stream = conversation.reply(to: message, generationOptions)
        current.reply = stream
        isResponding = true
        // A session that is dropped does not wait for its reply, and no longer sends what waits.
        reading = Task { [weak self] in
            await earlier?.value
            guard self != nil else { return }
            do {
                try self?.begin(message)
                for try await event in stream {
                    guard let self else { return }
                    take(event)
                }
                self?.end(stream, nil)
            } catch {
                self?.end(stream, error)
            }
        }
    }

    private func begin(_ message: ChatMessage?) throws {
        (error, completion) = (nil, nil)
        if message == nil { try removeReply() }
        before = Self.visible(conversation.history) + (message.map { [$0] } ?? [])
        show("")
    }

    private func take(_ event: MessageResponse) {
        switch event {
        case .chunk(let piece): show(text + piece)
        case .roundComplete:
            before = Self.visible(conversation.history)
            show("")
        case .complete(let end): completion = end
        default: break
        }
    }

    private func end(_ stream: ResponseStream, _ failure: (any Error)?) {
        error = failure
        messages = Self.visible(conversation.history)
        // Another message may wait already.
        isResponding = current.reply !== stream
    }

    /// Shows what has been written of the reply.
    private func show(_ text: String) {
        self.text = text
        var growing = ChatMessage(role: .assistant, textContent: text)
        growing.incomplete = true
        messages = before + [growing]
    }

    private func removeReply() throws {
        let history = conversation.history
        guard let last = history.lastIndex(where: { $0.role == .user }) else {
            throw SdkError.invalidMessage(reason: "the history must have a message of the user to reply to")
        }
        try conversation.truncate(messageCount: last + 1)
    }

    private static func visible(_ history: [ChatMessage]) -> [ChatMessage] {
        history.filter { $0.role != .system }
    }
}

/// The last reply of a session. It is stopped when the session is released.
private final class CurrentReply {
    var reply: ResponseStream?

    deinit {
        reply?.cancel()
    }
}
