extension Shape.Member {
    /// The member as a parameter of a function.
    func parameter() throws -> SdkFunctionParameter {
        var parameter = SdkFunctionParameter(
            name: name, type: try shape.parameterType(described: nil),
            parameterDescription: description ?? shape.description, optional: isOptional)
        if shape.hasKeywords {
            parameter.schema = SdkJsonObject(json: shape.withKeywords(parameter.jsonSchema).text)
        }
        return parameter
    }
}

extension SdkFunctionParameter {
    /// The JSON Schema of the parameter, as the model reads it.
    var jsonSchema: JsonValue {
        let function = SdkFunction(name: "f", functionDescription: "", parameters: [self])
        let schema = try? JsonReader.value(from: functionSchema(function: function))
        return schema?["parameters"]?["properties"]?[name] ?? .object([])
    }
}

extension Shape {
    /// Whether its JSON Schema has keywords that parameter types cannot express.
    fileprivate var hasKeywords: Bool {
        switch form {
        case .unknown: false
        case .map(let values): values != nil
        case .plain(let plain): !plain.keywords.isEmpty
        case .array(let item): item.hasKeywords || item.isNullable
        case .object(let members): members.contains { $0.shape.hasKeywords }
        }
    }

    /// Returns its schema with the keywords that parameter types cannot express.
    fileprivate func withKeywords(_ schema: JsonValue) -> JsonValue {
        switch form {
        case .unknown, .map(of: nil): return schema
        case .map(let values?):
            guard case .object(let entries) = schema, let inner = try? values.elementSchema else { return schema }
            let others = entries.filter { $0.name != "properties" }
            return .object(others + [(name: "additionalProperties", value: inner)])
        case .plain(let plain):
            guard case .object(let entries) = schema else { return schema }
            return .object(entries + plain.keywords)
        case .array(let item):
            return schema.changing("items") { item.withNull(item.withKeywords($0)) }
        case .object(let members):
            return schema.changing("properties") { properties in
                members.reduce(properties) { $0.changing($1.name, $1.shape.withKeywords) }
            }
        }
    }

    /// The schema of the values of a dictionary.
    private var elementSchema: JsonValue {
        get throws {
            let type = try parameterType(described: nil)
            let value = SdkFunctionParameter(
                name: "value", type: type, parameterDescription: description, optional: false)
            return withNull(withKeywords(value.jsonSchema))
        }
    }

    private func withNull(_ schema: JsonValue) -> JsonValue {
        let null = JsonValue.object([(name: "type", value: .string("null"))])
        return isNullable ? .object([(name: "anyOf", value: .array([schema, null]))]) : schema
    }

    /// The error for a value that fits the schema, but not the Swift type.
    func fault(in value: JsonValue, at place: String) -> SdkError? {
        switch (form, value) {
        case (.plain(let plain), _): return plain.fault(in: value, at: place)
        case (.array(let item), .array(let values)):
            return values.enumerated().lazy.compactMap { item.fault(in: $1, at: "\(place)[\($0)]") }.first
        case (.map(let values?), .object(let entries)):
            return entries.lazy.compactMap { values.fault(in: $0.value, at: "\(place).\($0.name)") }.first
        case (.object(let members), .object):
            let prefix = place.isEmpty ? "" : place + "."
            return members.lazy.compactMap { member in
                value[member.name].flatMap { member.shape.fault(in: $0, at: prefix + member.name) }
            }.first
        default: return nil
        }
    }
}
