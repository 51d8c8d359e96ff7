// The types of parameters by the names they have in every language, callable as `SdkStr(…)` and as `.SdkStr(…)`. An
// absent argument is left out or `nil`. A description counts only where the type is nested in another one.

/// Text.
///
/// - Parameters:
///   - enumValues: the allowed values; any text when `nil`.
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

/// A whole number.
///
/// - Parameters:
///   - enumValues: the allowed values; any whole number when `nil`.
///   - description: the meaning of a nested value.
public func SdkInt(enumValues: [Int]? = nil, description: String? = nil) -> SdkFunctionParameterType {
    .sdkInt(enumValues: enumValues?.map(Int64.init), description: description)
}

/// True or false.
///
/// - Parameter description: the meaning of a nested value.
public func SdkBool(description: String? = nil) -> SdkFunctionParameterType {
    .sdkBool(description: description)
}

/// A list.
///
/// - Parameters:
///   - itemType: the type of every item.
///   - description: the meaning of a nested value.
public func SdkArr(itemType: SdkFunctionParameterType, description: String? = nil) -> SdkFunctionParameterType {
    .sdkArr(itemType: itemType, description: description)
}

/// A map of named values.
///
/// - Parameters:
///   - properties: the values by name; the model sees them sorted.
///   - required: the names of those that must be present.
///   - description: the meaning of a nested value.
public func SdkObj(
    properties: [String: SdkFunctionParameterType], required: [String] = [], description: String? = nil
) -> SdkFunctionParameterType {
    .sdkObj(properties: properties, required: required, description: description)
}

/// Null.
public func SdkNull() -> SdkFunctionParameterType { .sdkNull }

extension SdkFunctionParameterType {
    /// Text. See ``Causerie/SdkStr(enumValues:description:)``.
    public static func SdkStr(enumValues: [String]? = nil, description: String? = nil) -> Self {
        .sdkStr(enumValues: enumValues, description: description)
    }

    /// A number. See ``Causerie/SdkNum(enumValues:description:)``.
    public static func SdkNum(enumValues: [Double]? = nil, description: String? = nil) -> Self {
        .sdkNum(enumValues: enumValues, description: description)
    }

    /// A whole number. See ``Causerie/SdkInt(enumValues:description:)``.
    public static func SdkInt(enumValues: [Int]? = nil, description: String? = nil) -> Self {
        .sdkInt(enumValues: enumValues?.map(Int64.init), description: description)
    }

    /// True or false. See ``Causerie/SdkBool(description:)``.
    public static func SdkBool(description: String? = nil) -> Self {
        .sdkBool(description: description)
    }

    /// A list. See ``Causerie/SdkArr(itemType:description:)``.
    public static func SdkArr(itemType: SdkFunctionParameterType, description: String? = nil) -> Self {
        .sdkArr(itemType: itemType, description: description)
    }

    /// A map of named values. See ``Causerie/SdkObj(properties:required:description:)``.
    public static func SdkObj(
        properties: [String: SdkFunctionParameterType], required: [String] = [], description: String? = nil
    ) -> Self {
        .sdkObj(properties: properties, required: required, description: description)
    }

    /// Null.
    public static func SdkNull() -> Self { .sdkNull }
}

/// Reads Python-style calls between `<|tool_call_start|>` and `<|tool_call_end|>`.
public func DefaultFunctionCallParser() -> FunctionCallParser { .default }

/// Reads JSON objects between `<tool_call>` and `</tool_call>`.
public func JsonStyleFunctionCallParser() -> FunctionCallParser { .jsonStyle }
