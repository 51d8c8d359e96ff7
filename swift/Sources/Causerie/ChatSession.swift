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
    /// it, with its reasoning and its calls; it is `incomplete`.
    public private(set) var messages: [ChatMessage]
    /// The text of the next message.
    public var draft = ""
    /// Whether a reply is under way.
    public private(set) var isResponding = false
    /// The error of the last reply, if it failed.
    public private(set) var error: (any Error)?
    /// The message whose reply failed before it began, for example because the message is too long. It is not in the history;
    /// ``regenerate()`` sends it again.
    public private(set) var failed: ChatMessage?
    /// The end of the last reply, with its counts and durations.
    public private(set) var completion: Completion?
    /// The options of replies; the model's defaults when `nil`.
    public var generationOptions: GenerationOptions?

    private var before: [ChatMessage] = []
    private var growing = ChatSession.empty {
        didSet { messages = before + [growing] }
    }
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
        messages = conversation.history.filter { $0.role != .system }
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

    /// Sends a message. A reply that is under way is stopped first. The message stays in the history even if its own reply is
    /// stopped before it begins, unless ``GenerationOptions/onCancel`` drops turns.
    public func send(_ message: ChatMessage) {
        answer(message)
    }

    /// Generates the last reply anew: what came after the last message of the user is removed. If nothing is written in its place, it
    /// comes back. A message that has ``failed`` is sent again instead.
    public func regenerate() {
        answer(nil)
    }

    /// Stops the reply. What has been written of it stays, unless ``GenerationOptions/onCancel`` says otherwise.
    public func stop() {
        current.reply?.stop()
    }

    /// Waits for the end of the reply, and of what was sent meanwhile.
    public func finish() async {
        while isResponding, let reading { await reading.value }
    }

    /// Replies to a message; without one, to the message that failed, or again to the last message of the user.
    private func answer(_ message: ChatMessage?) {
        stop()
        let earlier = reading
        let reply = SessionReply(to: message, generationOptions ?? GenerationOptions())
        current.reply = reply
        isResponding = true
        // A session that is dropped does not wait for its reply, and no longer sends what waits.
        reading = Task { [weak self] in
            await earlier?.value
            do {
                if let stream = try self?.begin(reply) {
                    for try await event in stream {
                        guard let self else { return }
                        take(event)
                    }
                }
                try self?.keep(reply)
            } catch {
                self?.fail(reply, error)
            }
            self?.end(reply)
        }
    }

    /// Starts a reply; `nil` if it need not begin. Nothing is sent before it is read.
    private func begin(_ reply: SessionReply) throws -> ResponseStream? {
        if reply.isStopped, reply.message == nil { return nil }
        reply.message = reply.message ?? failed
        (error, failed, completion) = (nil, nil, nil)
        if reply.message == nil { reply.removed = try removeReply() }
        before = visibleHistory
        reply.messageCount = before.count
        if let message = reply.message { before.append(message) }
        growing = Self.empty
        return reply.start(conversation)
    }

    private func take(_ event: MessageResponse) {
        switch event {
        case .chunk(let piece): growing.content = [.text(growing.text + piece)]
        case .reasoningChunk(let piece): growing.reasoningContent = (growing.reasoningContent ?? "") + piece
        case .functionCalls(let calls): growing.functionCalls = (growing.functionCalls ?? []) + calls
        case .roundComplete:
            before = visibleHistory
            growing = Self.empty
        case .complete(let end): completion = end
        default: break
        }
    }

    /// Keeps what a reply that was stopped too early has not brought into the history: its message, or the reply that it was to
    /// replace.
    private func keep(_ reply: SessionReply) throws {
        guard isWithoutTrace(reply) else { return }
        try append(reply.removed)
        if let message = reply.message, reply.options.onCancel != .dropTurn { try append([message]) }
    }

    private func fail(_ reply: SessionReply, _ failure: any Error) {
        error = failure
        guard isWithoutTrace(reply) else { return }
        failed = reply.message
        // They were valid there before.
        try? append(reply.removed)
    }

    private func end(_ reply: SessionReply) {
        messages = visibleHistory
        // Another message may wait already.
        isResponding = current.reply !== reply
    }

    /// Whether a reply has begun, and neither its message nor anything of itself is in the history.
    private func isWithoutTrace(_ reply: SessionReply) -> Bool {
        visibleHistory.count == reply.messageCount
    }

    private func append(_ messages: [ChatMessage]) throws {
        for message in messages { try conversation.appendToHistory(message: message) }
    }

    /// Removes what comes after the last message of the user, and returns it.
    private func removeReply() throws -> [ChatMessage] {
        let history = conversation.history
        guard let last = history.lastIndex(where: { $0.role == .user }) else {
            throw SdkError.invalidMessage(reason: "the history must have a message of the user to reply to")
        }
        try conversation.truncate(messageCount: last + 1)
        return Array(history[(last + 1)...])
    }

    private var visibleHistory: [ChatMessage] { conversation.history.filter { $0.role != .system } }

    /// A reply of which nothing has been written.
    private static let empty = ChatMessage(role: .assistant, content: [.text("")], incomplete: true)
}

/// A reply of a session.
private final class SessionReply {
    /// The message that it replies to; `nil` for a reply that is generated anew.
    var message: ChatMessage?
    let options: GenerationOptions
    /// The number of visible messages before it; `nil` until it begins.
    var messageCount: Int?
    /// The messages that it replaces.
    var removed: [ChatMessage] = []
    private(set) var isStopped = false
    private var stream: ResponseStream?

    init(to message: ChatMessage?, _ options: GenerationOptions) {
        self.message = message
        self.options = options
    }

    func start(_ conversation: Conversation) -> ResponseStream {
        let stream = conversation.reply(to: message, options)
        if isStopped { stream.cancel() }
        self.stream = stream
        return stream
    }

    func stop() {
        isStopped = true
        stream?.cancel()
    }
}

/// The last reply of a session. It is stopped when the session is released.
private final class CurrentReply {
    var reply: SessionReply?

    deinit {
        reply?.stop()
    }
}
