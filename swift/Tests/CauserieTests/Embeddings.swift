import Foundation
import Testing

@testable import Causerie

/// Embeddings and reranking, on a small BERT with random weights, against values of other implementations.
@Suite struct Embeddings {
    private let models = repository.appendingPathComponent("tests/fixtures/models")
    // As in the core's test: F32 sums in another order, and F16 weights in the file.
    private let tolerance: Float = 1e-4
    private let golden: Golden

    private struct Golden: Decodable {
        struct Single: Decodable {
            let text: String
            let ids: [Int]
        }
        struct Pair: Decodable {
            let first: String
            let second: String
            let ids: [Int]
            let relevance: Float
        }
        let single: [Single]
        let pairs: [Pair]
        let unit_means: [[Float]]
    }

    private struct GoldenFile: Decodable {
        let tokens: Golden
    }

    init() throws {
        let file = try Data(contentsOf: repository.appendingPathComponent("tests/golden/embeddings.json"))
        golden = try JSONDecoder().decode(GoldenFile.self, from: file).tokens
    }

    private var texts: [String] { golden.single.prefix(2).map(\.text) }

    private func model() async throws -> EmbeddingModel {
        try await loadEmbeddingModel(url: models.appendingPathComponent("bert"))
    }

    private func ranker() async throws -> EmbeddingModel {
        try await loadEmbeddingModel(path: models.appendingPathComponent("bert-rank-f16.gguf").path)
    }

    @Test func areTheVectorsOfTheReference() async throws {
        let found = try await model().embed(texts)
        #expect(found.vectors.map(\.count) == golden.unit_means.map(\.count))
        for (value, expected) in zip(found.vectors.joined(), golden.unit_means.joined()) {
            #expect(abs(value - expected) <= tolerance)
        }
        #expect(found.tokenCount == golden.single.prefix(2).map(\.ids.count).reduce(0, +))
    }

    @Test func haveTheRelevancesOfTheReference() async throws {
        let ranker = try await ranker()
        for pair in golden.pairs {
            let found = try await ranker.rerank(query: pair.first, documents: [pair.second])
            #expect(abs(try #require(found.results.first).relevance - pair.relevance) <= tolerance)
            #expect(found.tokenCount == pair.ids.count)
        }
    }

    @Test func rankDocuments() async throws {
        let ranker = try await ranker()
        let documents = ["the rocket", "a man eats bread", "reading", "bread"]
        let results = try await ranker.rerank(query: "who eats", documents: documents).results
        var alone: [Float] = []
        for document in documents {
            alone.append(try await ranker.rerank(query: "who eats", documents: [document]).results[0].relevance)
        }
        #expect(results.map(\.index) == documents.indices.sorted { alone[$0] > alone[$1] })
        let two = try await ranker.rerank(query: "who eats", documents: documents, options: RerankOptions(topN: 2))
        #expect(two.results == Array(results.prefix(2)))
    }

    @Test func dependOnOptions() async throws {
        let model = try await model()
        let query = try await model.embed(texts, options: EmbedOptions(textUse: .query))
        #expect(try await model.embed(texts, options: EmbedOptions().with(\.prompt, "query: ")) == query)
        #expect(try await model.embed(texts) != query)
        let short = try await model.embed(texts, options: EmbedOptions(dimensions: 8)).vectors[0]
        #expect(short.count == 8 && abs(short.map { $0 * $0 }.reduce(0, +) - 1) < 1e-5)
        let long = [String(repeating: "bread ", count: 500)]
        #expect(try await model.embed(long).truncated == [0])
        await #expect(throws: SdkError.self) { try await model.embed(long, options: EmbedOptions(truncates: false)) }
        #expect(abs(try cosineSimilarity(of: [1, 1, 0], to: [0, 2, 2]) - 0.5) < 1e-6)
    }

    @Test func nameWhatIsWrong() async throws {
        let model = try await model()
        let info = model.info()
        #expect(info.embeds && !info.ranks && info.dimensions == 32 && info.prompts.contains("query"))
        do {
            _ = try await model.rerank(query: "who eats", documents: texts)
            Issue.record("a model that does not rank must not rank")
        } catch SdkError.UnsupportedContent {}
        let range = "dimensions must be from 1 to 32, found 33"
        await #expect(throws: SdkError.InvalidOption(reason: range, option: "dimensions")) {
            try await model.embed(texts, options: EmbedOptions(dimensions: 33))
        }
        await #expect(throws: SdkError.self) { try await model.embed(texts, options: EmbedOptions(dimensions: -1)) }
        #expect(throws: SdkError.self) { try cosineSimilarity(of: [1], to: [1, 2]) }
        await #expect(throws: SdkError.self) { try await loadEmbeddingModel(path: "no/such/model") }
    }
}
