import Foundation

extension SdkError: CustomStringConvertible {}

extension SdkError: LocalizedError {
    /// The message, one line.
    public var errorDescription: String? { description }
}

// The cases in lower camel case. The cases themselves have the names that they have in every language.
extension SdkError {
    /// The kind of an error: the name of its case in lower camel case.
    ///
    /// ```swift
    /// do {
    ///     runner = try await loadModel(path: path)
    /// } catch SdkError.modelNotFound {
    ///     askForAModel()
    /// }
    /// ```
    ///
    /// A `switch` over errors may name kinds as well: `case .busy:`. What an error holds besides, the case itself gives:
    /// `catch SdkError.OutOfMemory(_, let needed, _)`.
    public enum Kind: String, CaseIterable, Sendable {
        case modelNotFound
        case modelLoad
        case outOfMemory
        case loadCancelled
        case modelUnloaded
        case busy
        case streamAlreadyConsumed
        case promptExceedsContext
        case invalidOption
        case invalidMessage
        case invalidFunction
        case invalidArgument
        case functionCallingUnsupported
        case unsupportedContent
        case generation
        case serialization
        case session
        case download
        case `internal`
    }

    /// The kind of this error.
    public var kind: Kind {
        switch self {
        case .ModelNotFound: .modelNotFound
        case .ModelLoad: .modelLoad
        case .OutOfMemory: .outOfMemory
        case .LoadCancelled: .loadCancelled
        case .ModelUnloaded: .modelUnloaded
        case .Busy: .busy
        case .StreamAlreadyConsumed: .streamAlreadyConsumed
        case .PromptExceedsContext: .promptExceedsContext
        case .InvalidOption: .invalidOption
        case .InvalidMessage: .invalidMessage
        case .InvalidFunction: .invalidFunction
        case .InvalidArgument: .invalidArgument
        case .FunctionCallingUnsupported: .functionCallingUnsupported
        case .UnsupportedContent: .unsupportedContent
        case .Generation: .generation
        case .Serialization: .serialization
        case .Session: .session
        case .Download: .download
        case .Internal: .internal
        }
    }
}

extension SdkError.Kind {
    /// Whether an error is of a kind, for patterns.
    public static func ~= (kind: Self, error: any Error) -> Bool {
        (error as? SdkError)?.kind == kind
    }

    /// Whether an error is of a kind, for patterns.
    public static func ~= (kind: Self, error: SdkError) -> Bool {
        error.kind == kind
    }
}

// Kinds as patterns, and errors that an app throws itself, for example from a handler.
extension SdkError {
    /// The kind of ``ModelNotFound(reason:)``.
    public static var modelNotFound: Kind { .modelNotFound }
    /// Creates a ``ModelNotFound(reason:)``.
    public static func modelNotFound(reason: String) -> SdkError { .ModelNotFound(reason: reason) }

    /// The kind of ``ModelLoad(reason:)``.
    public static var modelLoad: Kind { .modelLoad }
    /// Creates a ``ModelLoad(reason:)``.
    public static func modelLoad(reason: String) -> SdkError { .ModelLoad(reason: reason) }

    /// The kind of ``OutOfMemory(reason:needed:available:)``.
    public static var outOfMemory: Kind { .outOfMemory }
    /// Creates a ``OutOfMemory(reason:needed:available:)``.
    public static func outOfMemory(reason: String, needed: UInt64, available: UInt64) -> SdkError {
        .OutOfMemory(reason: reason, needed: needed, available: available)
    }

    /// The kind of ``LoadCancelled(reason:)``.
    public static var loadCancelled: Kind { .loadCancelled }
    /// Creates a ``LoadCancelled(reason:)``.
    public static func loadCancelled(reason: String) -> SdkError { .LoadCancelled(reason: reason) }

    /// The kind of ``ModelUnloaded(reason:)``.
    public static var modelUnloaded: Kind { .modelUnloaded }
    /// Creates a ``ModelUnloaded(reason:)``.
    public static func modelUnloaded(reason: String) -> SdkError { .ModelUnloaded(reason: reason) }

    /// The kind of ``Busy(reason:)``.
    public static var busy: Kind { .busy }
    /// Creates a ``Busy(reason:)``.
    public static func busy(reason: String) -> SdkError { .Busy(reason: reason) }

    /// The kind of ``StreamAlreadyConsumed(reason:)``.
    public static var streamAlreadyConsumed: Kind { .streamAlreadyConsumed }
    /// Creates a ``StreamAlreadyConsumed(reason:)``.
    public static func streamAlreadyConsumed(reason: String) -> SdkError { .StreamAlreadyConsumed(reason: reason) }

    /// The kind of ``PromptExceedsContext(reason:needed:available:)``.
    public static var promptExceedsContext: Kind { .promptExceedsContext }
    /// Creates a ``PromptExceedsContext(reason:needed:available:)``.
    public static func promptExceedsContext(reason: String, needed: Int, available: Int) -> SdkError {
        .PromptExceedsContext(reason: reason, needed: needed, available: available)
    }

    /// The kind of ``InvalidOption(reason:option:)``.
    public static var invalidOption: Kind { .invalidOption }
    /// Creates a ``InvalidOption(reason:option:)``.
    public static func invalidOption(reason: String, option: String) -> SdkError {
        .InvalidOption(reason: reason, option: option)
    }

    /// The kind of ``InvalidMessage(reason:)``.
    public static var invalidMessage: Kind { .invalidMessage }
    /// Creates a ``InvalidMessage(reason:)``.
    public static func invalidMessage(reason: String) -> SdkError { .InvalidMessage(reason: reason) }

    /// The kind of ``InvalidFunction(reason:)``.
    public static var invalidFunction: Kind { .invalidFunction }
    /// Creates a ``InvalidFunction(reason:)``.
    public static func invalidFunction(reason: String) -> SdkError { .InvalidFunction(reason: reason) }

    /// The kind of ``InvalidArgument(reason:argument:)``.
    public static var invalidArgument: Kind { .invalidArgument }
    /// Creates a ``InvalidArgument(reason:argument:)``.
    public static func invalidArgument(reason: String, argument: String) -> SdkError {
        .InvalidArgument(reason: reason, argument: argument)
    }

    /// The kind of ``FunctionCallingUnsupported(reason:)``.
    public static var functionCallingUnsupported: Kind { .functionCallingUnsupported }
    /// Creates a ``FunctionCallingUnsupported(reason:)``.
    public static func functionCallingUnsupported(reason: String) -> SdkError {
        .FunctionCallingUnsupported(reason: reason)
    }

    /// The kind of ``UnsupportedContent(reason:)``.
    public static var unsupportedContent: Kind { .unsupportedContent }
    /// Creates a ``UnsupportedContent(reason:)``.
    public static func unsupportedContent(reason: String) -> SdkError { .UnsupportedContent(reason: reason) }

    /// The kind of ``Generation(reason:)``.
    public static var generation: Kind { .generation }
    /// Creates a ``Generation(reason:)``.
    public static func generation(reason: String) -> SdkError { .Generation(reason: reason) }

    /// The kind of ``Serialization(reason:)``.
    public static var serialization: Kind { .serialization }
    /// Creates a ``Serialization(reason:)``.
    public static func serialization(reason: String) -> SdkError { .Serialization(reason: reason) }

    /// The kind of ``Session(reason:fault:)``.
    public static var session: Kind { .session }
    /// Creates a ``Session(reason:fault:)``.
    public static func session(reason: String, fault: String) -> SdkError { .Session(reason: reason, fault: fault) }

    /// The kind of ``Download(reason:fault:isRetryable:)``.
    public static var download: Kind { .download }
    /// Creates a ``Download(reason:fault:isRetryable:)``.
    public static func download(reason: String, fault: String, isRetryable: Bool) -> SdkError {
        .Download(reason: reason, fault: fault, isRetryable: isRetryable)
    }

    /// The kind of ``Internal(reason:)``.
    public static var `internal`: Kind { .internal }
    /// Creates a ``Internal(reason:)``.
    public static func `internal`(reason: String) -> SdkError { .Internal(reason: reason) }
}
