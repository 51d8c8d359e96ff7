// The types of parameters with the names that they have in every language, callable as `SdkStr(…)` and as `.SdkStr(…)`.
// Absent arguments are omitted or `nil`. Descriptions are used for nested types only.

/// A string.
///
/// - Parameters:
///   - enumValues: the allowed values; any string when `nil`.
///   - description: the meaning of a nested value.
public func SdkStr(enumValues: [String]? = nil, description: String? = nil) -> SdkFunctionParameterType {
    .sdkStr(enumValues: enumValues, description: description)
}

/// A number.
///
/// - Parameters:
///   - enumValues: the allowed values; any finite number when `nil`.
///   - description: the meaning of a nested value.
public func SdkNum(enumValues: [Double]? = nil, description: String? = nil) -> SdkFunctionParameterType {
    .sdkNum(enumValues: enumValues, description: description)
}

/// An integer.
///
/// - Parameters:
///   - enumValues: the allowed values; any integer when `nil`.
///   - description: the meaning of a nested value.
public func SdkInt(enumValues: [Int]? = nil, description: String? = nil) -> SdkFunctionParameterType {
    .sdkInt(enumValues: enumValues?.map(Int64.init), description: description)
}

/// A boolean.
///
/// - Parameter description: the meaning of a nested value.
public func SdkBool(description: String? = nil) -> SdkFunctionParameterType {
    .sdkBool(description: description)
}

/// An array.
///
/// - Parameters:
///   - itemType: the type of the elements.
///   - description: the meaning of a nested value.
public func SdkArr(itemType: SdkFunctionParameterType, description: String? = nil) -> SdkFunctionParameterType {
    .sdkArr(itemType: itemType, description: description)
}

/// An object.
///
/// - Parameters:
///   - properties: the types of the properties by name; the prompt has them sorted.
///   - required: the names of the properties that must be present.
///   - description: the meaning of a nested value.
public func SdkObj(
    properties: [String: SdkFunctionParameterType], required: [String] = [], description: String? = nil
) -> SdkFunctionParameterType {
    .sdkObj(properties: properties, required: required, description: description)
}

/// Null. It has no arguments, and may be called without any: `SdkNull()`.
public var SdkNull: SdkFunctionParameterType { .sdkNull }

extension SdkFunctionParameterType {
    /// A string. See ``Causerie/SdkStr(enumValues:description:)``.
    public static func SdkStr(enumValues: [String]? = nil, description: String? = nil) -> Self {
        .sdkStr(enumValues: enumValues, description: description)
    }

    /// A number. See ``Causerie/SdkNum(enumValues:description:)``.
    public static func SdkNum(enumValues: [Double]? = nil, description: String? = nil) -> Self {
        .sdkNum(enumValues: enumValues, description: description)
    }

    /// An integer. See ``Causerie/SdkInt(enumValues:description:)``.
    public static func SdkInt(enumValues: [Int]? = nil, description: String? = nil) -> Self {
        .sdkInt(enumValues: enumValues?.map(Int64.init), description: description)
    }

    /// A boolean. See ``Causerie/SdkBool(description:)``.
    public static func SdkBool(description: String? = nil) -> Self {
        .sdkBool(description: description)
    }

    /// An array. See ``Causerie/SdkArr(itemType:description:)``.
    public static func SdkArr(itemType: SdkFunctionParameterType, description: String? = nil) -> Self {
        .sdkArr(itemType: itemType, description: description)
    }

    /// An object. See ``Causerie/SdkObj(properties:required:description:)``.
    public static func SdkObj(
        properties: [String: SdkFunctionParameterType], required: [String] = [], description: String? = nil
    ) -> Self {
        .sdkObj(properties: properties, required: required, description: description)
    }

    /// Null. It has no arguments, and may be called without any: `.SdkNull()`.
    public static var SdkNull: Self { .sdkNull }

    /// The type itself, so that ``Causerie/SdkNull`` may be called as the other types are.
    public func callAsFunction() -> Self { self }
}
