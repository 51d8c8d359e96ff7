import Foundation
import Testing

@testable import Causerie

/// Decisions, on the demo model, which does not decide.
@Suite struct DecisionsAboutStates {
    private let state: DecisionState = "The kettle boils, and steam fills the kitchen. Anna is in the garden."
    private let questions: [DecisionQuestion] = [
        .predicate("Is the water hot?", yes: "steam rises", name: "hot"),
        .choice("Where is Anna?", [DecisionLabel(label: "kitchen", description: "to cook"), "garden"], name: "place"),
        .score("How warm is it?", ["cold", "mild", "hot"]),
    ]

    private func load() async throws -> ModelRunner {
        try await loadModel(url: repository.appendingPathComponent("models/demo.gguf"))
    }

    private func yes(_ decisions: Decisions) throws -> Double {
        guard case .predicate(let probability)? = decisions.answers.first?.outcome else { throw Missing() }
        return probability
    }

    @Test func comeInOrderWithProbabilitiesThatAddUpTo1() async throws {
        let answers = try await load().decide(state, questions).answers
        #expect(answers.map(\.name) == ["hot", "place", nil])
        guard case .choice(let choice, let index, _, let labels) = answers[1].outcome,
            case .score(let score, _, let levels) = answers[2].outcome
        else { throw Missing() }
        #expect(labels.map(\.label) == ["kitchen", "garden"] && labels[index].label == choice)
        #expect(labels.allSatisfy { $0.probability <= labels[index].probability })
        for all in [labels, levels] { #expect(abs(all.map(\.probability).reduce(0, +) - 1) < 1e-12) }
        #expect(abs(score - levels[1].probability - 2 * levels[2].probability) < 1e-12)
    }

    @Test func areNotAnsweredByTheDemoModelUnlessAnythingCounts() async throws {
        let runner = try await load()
        #expect(try await runner.decide(state, questions).answers.allSatisfy { !$0.isAnswered })
        let options = DecisionOptions().with(\.minLabelProbability, 0)
        let answers = try await runner.decide(state, questions, options: options).answers
        #expect(answers.allSatisfy { $0.isAnswered && $0.labelProbability < 0.1 })
    }

    @Test func areTheSameAloneAndLater() async throws {
        let runner = try await load()
        let together = try await runner.decide(state, questions).answers
        let again = try await runner.decide(state, questions)
        #expect(again.answers == together && 0 < again.usage.cachedTokens)
        for (question, answer) in zip(questions, together) {
            #expect(try await runner.decide(state, [question]).answers == [answer])
        }
    }

    @Test func takeJsonAndMessages() async throws {
        let runner = try await load()
        let question = Array(questions.prefix(1))
        let object: [String: Any?] = ["kettle": [1, nil] as [Int?]]
        let json = try await runner.decide(.json(object), question)
        let text = try await runner.decide("{\n  \"kettle\": [\n    1,\n    null\n  ]\n}", question)
        #expect(json.answers == text.answers)
        let thread = [
            ChatMessage(role: .user, textContent: "Tea?"), ChatMessage(role: .assistant, textContent: "Yes!"),
        ]
        let written = try await runner.decide("User: Tea?\n\nAssistant: Yes!", question)
        #expect(try await runner.decide(.messages(thread), question).answers == written.answers)
        await #expect(throws: SdkError.self) { try await runner.decide(.json(json: "{"), question) }
    }

    @Test func dependOnCriteriaAndOptions() async throws {
        let runner = try await load()
        let plain: [DecisionQuestion] = [.predicate("Is the water hot?")]
        let warm = try yes(try await runner.decide(state, plain))
        #expect(try yes(try await runner.decide(state, questions)) != warm)
        let options = DecisionOptions(temperature: DecisionTemperatures(predicate: 0.5))
        let cold = try yes(try await runner.decide(state, plain, options: options))
        let odds = warm / (1 - warm)
        #expect(abs(cold / (1 - cold) / (odds * odds) - 1) < 1e-9)
    }

    @Test func nameWhatIsWrong() async throws {
        let runner = try await load()
        let reason = "questions[0].levels must have 2 to 100 entries, found 1"
        await #expect(throws: SdkError.InvalidArgument(reason: reason, argument: "")) {
            try await runner.decide(state, [.score("How warm is it?", ["cold"])])
        }
        let options = DecisionOptions().with(\.rotations, -1)
        let range = "rotations must be between 1 and 255, found -1"
        await #expect(throws: SdkError.InvalidOption(reason: range, option: "rotations")) {
            try await runner.decide(state, questions, options: options)
        }
    }

    @Test func endWithTheirTask() async throws {
        let runner = try await load()
        let many = Array(repeating: questions, count: 100).flatMap { $0 }
        let task = Task { try await runner.decide(state, many) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await runner.decide(state, questions).answers.count == 3)
    }
}
