import Foundation

/// Loads an embedding model on a separate thread.
///
/// ```swift
/// let model = try await loadEmbeddingModel(path: "all-MiniLM-L6-v2")
/// let question = try await model.embed(["Who eats?"], options: EmbedOptions(textUse: .query)).vectors[0]
/// for vector in try await model.embed(["A man eats bread.", "The rocket flies."]).vectors {
///     print(try cosineSimilarity(of: question, to: vector))
/// }
/// ```
///
/// - Parameters:
///   - path: a GGUF file, a Hugging Face folder, or `<namespace>/<name>` in the local cache.
///   - options: the options for loading.
/// - Throws: ``SdkError``.
public func loadEmbeddingModel(
    path: String, options: EmbeddingModelOptions = EmbeddingModelOptions()
) async throws -> EmbeddingModel {
    try checkCount(options.threads, "threads", expected: "between 1 and 1024")
    try checkCount(options.contextSize, "contextSize", expected: "1 or more")
    Log.start()
    return EmbeddingModel(try await rawLoadEmbeddingModel(path: path, options: options))
}

/// Loads an embedding model from a file or a folder. See ``loadEmbeddingModel(path:options:)``.
///
/// - Parameters:
///   - url: a file URL.
///   - options: the options for loading.
public func loadEmbeddingModel(
    url: URL, options: EmbeddingModelOptions = EmbeddingModelOptions()
) async throws -> EmbeddingModel {
    guard url.isFileURL || url.scheme == nil else {
        throw SdkError.ModelNotFound(reason: "url must be a file URL, found \(url.absoluteString)")
    }
    return try await loadEmbeddingModel(path: url.path, options: options)
}

/// Each call computes on a separate thread, one at a time. Cancelling its task does not end the computation.
extension EmbeddingModel {
    /// Returns the vectors of texts. Texts are computed together; no text's vector depends on the others, not in a bit.
    ///
    /// - Parameters:
    ///   - texts: the texts.
    ///   - options: how they are embedded.
    /// - Throws: ``SdkError/UnsupportedContent(reason:)`` for a model that does not give vectors of texts,
    ///   ``SdkError/InvalidOption(reason:option:)``, or
    ///   ``SdkError/PromptExceedsContext(reason:needed:available:)`` for a text that is too long and must not be cut.
    public func embed(_ texts: [String], options: EmbedOptions = EmbedOptions()) async throws -> TextEmbeddings {
        try checkCount(options.dimensions, "dimensions", expected: "1 or more")
        return try await raw.embed(texts: texts, options: options)
    }

    /// Returns the vectors of the tokens of texts, for models that compare texts token by token.
    ///
    /// - Parameters:
    ///   - texts: the texts.
    ///   - options: how they are embedded.
    public func embedTokens(_ texts: [String], options: EmbedOptions = EmbedOptions()) async throws -> TokenEmbeddings {
        try checkCount(options.dimensions, "dimensions", expected: "1 or more")
        return try await raw.embedTokens(texts: texts, options: options)
    }

    /// Ranks documents by how well they fit a query. A document that is too long is cut at its end.
    ///
    /// - Parameters:
    ///   - query: the query.
    ///   - documents: the documents.
    ///   - options: how they are ranked.
    /// - Throws: ``SdkError/UnsupportedContent(reason:)`` for a model that does not rank, or
    ///   ``SdkError/InvalidOption(reason:option:)``.
    public func rerank(
        query: String, documents: [String], options: RerankOptions = RerankOptions()
    ) async throws -> Ranking {
        try checkCount(options.topN, "topN", expected: "1 or more")
        return try await raw.rerank(query: query, documents: documents, options: options)
    }
}
