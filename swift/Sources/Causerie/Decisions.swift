import Foundation

extension DecisionQuestion {
    /// Creates a question that is answered by yes or no.
    ///
    /// - Parameters:
    ///   - instructions: the question itself.
    ///   - yes: when yes is right.
    ///   - no: when no is right.
    ///   - name: names the question in its answer.
    public static func predicate(
        _ instructions: String, yes: String? = nil, no: String? = nil, name: String? = nil
    ) -> Self {
        Self(instructions: [.text(instructions)], kind: .predicate(yes: yes, no: no), name: name)
    }

    /// Creates a question that is answered by one of the labels.
    ///
    /// - Parameters:
    ///   - instructions: the question itself.
    ///   - choices: 1 to 255 labels. Strings are labels without a description.
    ///   - name: names the question in its answer.
    public static func choice(_ instructions: String, _ choices: [DecisionLabel], name: String? = nil) -> Self {
        Self(instructions: [.text(instructions)], kind: .choice(choices: choices), name: name)
    }

    /// Creates a question that is answered by a number: of the levels, the first is 0.
    ///
    /// - Parameters:
    ///   - instructions: the question itself.
    ///   - levels: 2 to 100 labels, the lowest first. Strings are labels without a description.
    ///   - name: names the question in its answer.
    public static func score(_ instructions: String, _ levels: [DecisionLabel], name: String? = nil) -> Self {
        Self(instructions: [.text(instructions)], kind: .score(levels: levels), name: name)
    }
}

extension DecisionLabel: ExpressibleByStringLiteral {
    /// A label without a description.
    public init(stringLiteral label: String) {
        self.init(label: label)
    }
}

extension DecisionState {
    /// A text.
    public static func text(_ text: String) -> Self { .text(text: text) }

    /// A JSON value.
    ///
    /// - Parameter value: a string, boolean, number of any type, `nil`, array, dictionary, or `Encodable` value.
    /// - Throws: ``SdkError/Serialization(reason:)`` with the path of a value that JSON cannot represent.
    public static func json(_ value: Any?) throws -> Self { .json(json: try JsonValue(value, at: "").text) }

    /// Messages, which may have images.
    public static func messages(_ messages: [ChatMessage]) -> Self { .messages(messages: messages) }
}

extension DecisionState: ExpressibleByStringLiteral {
    /// A text.
    public init(stringLiteral text: String) {
        self = .text(text: text)
    }
}

extension ModelRunner {
    /// Answers questions about a state, with probabilities. No text is generated: the answers are read from the logits
    /// after each question. The state is prefilled once, and stays in the prefix cache for later questions about it.
    ///
    /// ```swift
    /// let questions: [DecisionQuestion] = [
    ///     .predicate("Does the writer want an answer today?"),
    ///     .choice("What is it about?", ["billing", "shipping"]),
    /// ]
    /// for answer in try await runner.decide("Where is my parcel?", questions).answers where answer.isAnswered {
    ///     switch answer.outcome {
    ///     case .predicate(let probability): print(probability)
    ///     case .choice(let choice, _, let confidence, _): print(choice, confidence)
    ///     case .score(let score, _, _): print(score)
    ///     }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - state: what the questions are about: `.text(text)`, `.json(value)`, `.messages(messages)` or a literal.
    ///   - questions: 1 to 400 questions.
    ///   - options: how decisions are read.
    /// - Throws: ``SdkError``, or `CancellationError` when the task was cancelled, which cancels the questions.
    public func decide(
        _ state: DecisionState, _ questions: [DecisionQuestion], options: DecisionOptions = DecisionOptions()
    ) async throws -> Decisions {
        try checkCount(options.rotations, "rotations", expected: "between 1 and 255")
        try Task.checkCancellation()
        let cancel = RawDecisionCancel()
        do {
            return try await withTaskCancellationHandler {
                try await raw.decideUntil(state: state, questions: questions, options: options, cancel: cancel)
            } onCancel: {
                cancel.cancel()
            }
        } catch {
            try Task.checkCancellation()
            throw error
        }
    }
}
