// Written by scripts/bindgen from the façade in bindings/src.

import Foundation

/// A model in memory that embeds texts, or ranks documents.
public final class EmbeddingModel: Sendable {
    let raw: RawEmbeddingModel

    init(_ raw: RawEmbeddingModel) {
        self.raw = raw
    }

    /// The description of the model.
    public func info() -> EmbeddingModelInfo {
        raw.info()
    }
}

/// The files of one model at one commit, with their digests. As JSON it survives a restart of the app.
public final class DownloadPlan: Sendable {
    let raw: RawDownloadPlan

    init(_ raw: RawDownloadPlan) {
        self.raw = raw
    }

    /// Reads a plan from JSON.
    public static func fromJson(json: String) throws -> DownloadPlan {
        DownloadPlan(try RawDownloadPlan.fromJson(json: json))
    }

    /// The commit, by which all files are fetched.
    public func commit() -> String {
        raw.commit()
    }

    /// Whether an account must accept the repository's conditions first.
    public func isGated() -> Bool {
        raw.isGated()
    }

    /// The licence that the repository states.
    public func license() -> String? {
        raw.license()
    }

    /// The name of the model.
    public func name() -> String {
        raw.name()
    }

    /// The size of all files in bytes.
    public func size() -> UInt64 {
        raw.size()
    }

    /// The plan as JSON.
    public func toJson() -> String {
        raw.toJson()
    }
}

/// The events of a download. Nothing follows the last one, or an error. Dropping the stream ends the download.
public final class DownloadStream: Sendable {
    let raw: RawDownloadStream

    init(_ raw: RawDownloadStream) {
        self.raw = raw
    }

    /// Ends the download soon, with the error `Download` whose fault is `cancelled`. What has arrived is kept. Calling it again,
    /// or after the end, does nothing.
    public func cancel() {
        raw.cancel()
    }

    /// The next event; none after the last one.
    public func next() async throws -> PullEvent? {
        try await raw.next()
    }

    /// The next event, for callers that wait on a thread of their own.
    public func nextBlocking() throws -> PullEvent? {
        try raw.nextBlocking()
    }
}

/// Downloads models by name. See the crate `causerie-hub`.
public final class Hub: Sendable {
    let raw: RawHub

    init(_ raw: RawHub) {
        self.raw = raw
    }

    /// A hub that is reached by a transport of the platform, or without one by the library's own client. Libraries for phones
    /// have no client.
    public convenience init(options: HubOptions, transport: (any HttpTransport)?) throws {
        self.init(try RawHub(options: options, transport: transport.map(HttpTransportAdapter.init)))
    }

    /// The folder that models are downloaded into.
    public func cache() -> String {
        raw.cache()
    }

    /// The file or folder of a downloaded model. Sends no request.
    public func find(name: String) throws -> String {
        try raw.find(name: name)
    }

    /// Makes a model visible whose files are all installed. Returns the file or folder to load.
    public func finish(plan: DownloadPlan) throws -> String {
        try raw.finish(plan: plan.raw)
    }

    /// Checks a file that the app has fetched, and moves it to its place. Returns its path in the repository.
    public func install(plan: DownloadPlan, file: String) async throws -> String {
        try await raw.install(plan: plan.raw, file: file)
    }

    /// The bytes of a plan that are not there.
    public func missingBytes(plan: DownloadPlan) -> UInt64 {
        raw.missingBytes(plan: plan.raw)
    }

    /// The files of a plan that are not there, for an app that fetches them itself.
    public func missingFiles(plan: DownloadPlan) -> [PlannedFile] {
        raw.missingFiles(plan: plan.raw)
    }

    /// All downloaded models.
    public func models() -> [CachedModel] {
        raw.models()
    }

    /// Asks the hub which files a name means now, and what they are. Downloads no model.
    public func plan(name: String) async throws -> DownloadPlan {
        DownloadPlan(try await raw.plan(name: name))
    }

    /// Removes a model; without tag and revision, everything of its repository. Returns the bytes that this frees.
    public func remove(name: String) throws -> UInt64 {
        try raw.remove(name: name)
    }

    /// Downloads the files of a plan. Nothing happens before the first event is pulled.
    public func startFetch(plan: DownloadPlan) -> DownloadStream {
        DownloadStream(raw.startFetch(plan: plan.raw))
    }

    /// Downloads a model, as far as it is missing or has changed. Nothing happens before the first event is pulled.
    public func startPull(name: String) -> DownloadStream {
        DownloadStream(raw.startPull(name: name))
    }
}

/// A loaded model, which creates conversations.
public final class ModelRunner: Sendable {
    let raw: RawModelRunner

    init(_ raw: RawModelRunner) {
        self.raw = raw
    }

    /// Context size in tokens, for a prompt and its reply together.
    public func contextSize() -> Int {
        raw.contextSize()
    }

    /// Why the model is not computed on the GPU that its options ask for: there is none, its memory is too small, or it failed
    /// meanwhile. None if it is computed as asked for.
    public func deviceNote() -> String? {
        raw.deviceNote()
    }

    /// Facts about the model.
    public func info() -> ModelInfo {
        raw.info()
    }

    /// The token ids of the prompt for these messages.
    public func promptTokens(messages: [ChatMessage], addGenerationPrompt: Bool) throws -> [UInt32] {
        try raw.promptTokens(messages: messages, addGenerationPrompt: addGenerationPrompt)
    }

    /// Renders the prompt for these messages.
    public func renderPrompt(messages: [ChatMessage], addGenerationPrompt: Bool) throws -> String {
        try raw.renderPrompt(messages: messages, addGenerationPrompt: addGenerationPrompt)
    }

    /// Sets the model that chooses among the functions of this runner's conversations, for replies with `maxOfferedFunctions`: by the
    /// vectors of messages, and of the names and descriptions of functions. `UnsupportedContent` for a model that gives no vectors of
    /// texts.
    public func setFunctionRanker(model: EmbeddingModel) throws {
        try raw.setFunctionRanker(model: model.raw)
    }

    /// Whether the model's chat template supports functions.
    public func supportsFunctionCalling() -> Bool {
        raw.supportsFunctionCalling()
    }

    /// The token ids of a prompt given as text.
    public func tokenize(prompt: String) throws -> [UInt32] {
        try raw.tokenize(prompt: prompt)
    }

    /// Cancels all replies of this model and frees its memory. Conversations stay readable. Calling it again does nothing.
    public func unload() async throws {
        try await raw.unload()
    }
}

/// Writes a file of sound while its samples come.
public final class SoundFileWriter: Sendable {
    let raw: RawSoundFileWriter

    init(_ raw: RawSoundFileWriter) {
        self.raw = raw
    }

    /// Begins a file with so many samples per second. `UnsupportedContent` if no sound has the rate.
    public convenience init(format: SoundFormat, sampleRate: Int) throws {
        self.init(try RawSoundFileWriter(format: format, sampleRate: sampleRate))
    }

    /// Ends the file, and returns its last bytes.
    public func finish() -> Data {
        raw.finish()
    }
}

/// A Whisper model in memory, which writes what it hears.
public final class Transcriber: Sendable {
    let raw: RawTranscriber

    init(_ raw: RawTranscriber) {
        self.raw = raw
    }

    /// The codes of the languages that the model knows.
    public func languages() -> [String] {
        raw.languages()
    }
}

/// Receives the answer to one request: its head, the pieces of its body, and its end.
public final class HttpSink: Sendable {
    let raw: RawHttpSink

    init(_ raw: RawHttpSink) {
        self.raw = raw
    }

    /// Takes the status and the headers, before the body. Returns whether the request is to continue; if not, it must be
    /// cancelled.
    public func begin(status: Int, headers: [HttpHeader]) -> Bool {
        raw.begin(status: status, headers: headers)
    }

    /// Takes the failure of the request. It is tried again if that can help, which it cannot if, for example, the server's
    /// certificate is not trusted.
    public func fail(reason: String, isRetryable: Bool) {
        raw.fail(reason: reason, isRetryable: isRetryable)
    }

    /// Takes the end of the body.
    public func finish() {
        raw.finish()
    }

    /// Whether the hub still waits for the answer. If not, the request must be cancelled.
    public func isOpen() -> Bool {
        raw.isOpen()
    }

    /// Takes the next piece of the body, and waits while too many are unwritten. Returns whether the request is to continue;
    /// if not, it must be cancelled.
    public func receive(piece: Data) -> Bool {
        raw.receive(piece: piece)
    }
}

/// Sends GET requests for a hub.
///
/// Redirects must not be followed, because a token must not reach another server, and content must not be decompressed. All
/// the rest (retries, ranges, digests) is done by the hub.
public protocol HttpTransport: AnyObject, Sendable {
    /// Begins a request and returns. The answer goes to the sink, from any thread.
    func send(request: HttpRequest, sink: HttpSink) throws
}

final class HttpTransportAdapter: RawHttpTransport {
    let own: any HttpTransport

    init(_ own: any HttpTransport) {
        self.own = own
    }

    func send(request: HttpRequest, sink: RawHttpSink) throws {
        try own.send(request: request, sink: HttpSink(sink))
    }
}

/// The cosine of the angle between two vectors, from -1 to 1. `InvalidArgument` for vectors of different sizes.
public func cosineSimilarity(of: [Float], to: [Float]) throws -> Float {
    try rawCosineSimilarity(of: of, to: to)
}

/// The entry of a function in the tool list that the model reads, as JSON text.
public func functionSchema(function: SdkFunction) -> String {
    rawFunctionSchema(function: function)
}

/// Reads chat-completions `tools` from JSON text.
public func functionsFromJson(text: String) throws -> [SdkFunction] {
    try rawFunctionsFromJson(text: text)
}

/// Writes functions as JSON text: chat-completions `tools`.
public func functionsToJson(functions: [SdkFunction]) -> String {
    rawFunctionsToJson(functions: functions)
}

/// Reads the JSON of a reply as the only argument, `reply`, of a function.
public func readReply(text: String) throws -> SdkJsonObject {
    try rawReadReply(text: text)
}

/// Compares a call with the function of its name; see the core's `validate_among`.
public func validate(call: SdkFunctionCall, functions: [SdkFunction]) -> Validation {
    rawValidate(call: call, functions: functions)
}

/// Reads the plans of a lock file, as `causerie pull --lock` writes it.
public func plansFromLock(json: String) throws -> [DownloadPlan] {
    try rawPlansFromLock(json: json).map(DownloadPlan.init)
}

/// Waits until the sink has taken all records before this call, but no longer than two seconds.
public func flushLog() {
    rawFlushLog()
}

/// Reads a history from JSON text: an array of chat-completions messages.
public func messagesFromJson(text: String) throws -> [ChatMessage] {
    try rawMessagesFromJson(text: text)
}

/// Writes a history as JSON text: an array of chat-completions messages.
public func messagesToJson(messages: [ChatMessage]) -> String {
    rawMessagesToJson(messages: messages)
}

/// Loads a model that follows a script, given as JSON text, for tests of apps. See the core's `testing::ScriptedModel`.
public func loadScriptedModel(script: String) throws -> ModelRunner {
    ModelRunner(try rawLoadScriptedModel(script: script))
}
