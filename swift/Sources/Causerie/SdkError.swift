import Foundation

extension SdkError: CustomStringConvertible {}

extension SdkError: LocalizedError {
    /// The message, one line.
    public var errorDescription: String? { description }
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
