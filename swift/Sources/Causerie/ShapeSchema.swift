/// The schemas of types that occur again, by name. The engine puts each in the place of references to it, unless it contains
/// itself.
private final class SchemaDefinitions {
    var schemas: JsonEntries = []
    private var names: [ObjectIdentifier: String] = [:]

    /// A reference to the definition of a shape, which is written once.
    func reference(to shape: Shape) -> JsonEntries {
        let name = names[ObjectIdentifier(shape)] ?? define(shape)
        return [("$ref", .string("#/$defs/\(name)"))]
    }

    private func define(_ shape: Shape) -> String {
        var name = String(shape.name.map { $0.isLetter || $0.isNumber ? $0 : "_" })
        while names.values.contains(name) { name += "_" }
        names[ObjectIdentifier(shape)] = name
        schemas.append((name, .object(shape.keywords(self))))
        return name
    }
}

extension Shape.Member {
    /// The parameters of a function.
    static func parameters(_ members: [Self]) throws -> [SdkFunctionParameter] {
        let definitions = SchemaDefinitions()
        let schema = JsonValue.object(keywords(members, definitions) + [("$defs", .object(definitions.schemas))])
        let function = JsonValue.object([("name", .string("f")), ("parameters", schema)])
        do {
            return try functionsFromJson(text: JsonValue.array([function]).text).flatMap(\.parameters)
        } catch SdkError.Serialization(let reason) {
            throw SdkError.InvalidFunction(reason: reason)
        }
    }

    /// The schema of an object.
    fileprivate static func keywords(_ members: [Self], _ definitions: SchemaDefinitions) -> JsonEntries {
        let properties = members.map { ($0.name, $0.shape.schema(definitions, described: $0.description)) }
        let required = members.filter { !$0.isOptional }.map { JsonValue.string($0.name) }
        let keywords: JsonEntries = [("type", .string("object")), ("properties", .object(properties))]
        return required.isEmpty ? keywords : keywords + [("required", .array(required))]
    }
}

extension Shape {
    /// The schema with a description in place of that of the type.
    fileprivate func schema(_ definitions: SchemaDefinitions, described outer: String? = nil) -> JsonValue {
        var keywords = isShared ? definitions.reference(to: self) : keywords(definitions)
        if let outer, !outer.isEmpty {
            keywords.removeAll { $0.name == "description" }
            keywords.append(("description", .string(outer)))
        }
        guard isNullable else { return .object(keywords) }
        return .object([("anyOf", .array([.object(keywords), .object([("type", .string("null"))])]))])
    }

    fileprivate func keywords(_ definitions: SchemaDefinitions) -> JsonEntries {
        var keywords: JsonEntries
        switch form {
        case .unknown: keywords = []
        case .plain(let plain): keywords = plain.schema
        case .array(let item): keywords = [("type", .string("array")), ("items", item.schema(definitions))]
        case .map(let values, isByInteger: false):
            let inner = values.map { [("additionalProperties", $0.schema(definitions))] } ?? []
            keywords = [("type", .string("object"))] + inner
        case .map(let values, isByInteger: true):
            let integer = "^-?(0|[1-9][0-9]{0,17})$"
            let inner = JsonValue.object([(integer, values?.schema(definitions) ?? .object([]))])
            keywords = [("type", .string("object")), ("patternProperties", inner)] + Self.closed
        case .object(let members):
            // A model could write anything in an object without properties.
            keywords = Member.keywords(members, definitions) + (isCase && members.isEmpty ? Self.closed : [])
        case .choice(let cases):
            let choices = cases.map { JsonValue.object(Member.keywords($0, definitions) + Self.closed) }
            keywords = [("anyOf", .array(choices))]
        case .reference(let shape): return definitions.reference(to: shape)
        }
        if !description.isEmpty { keywords.append(("description", .string(description))) }
        return keywords
    }

    private static var closed: JsonEntries { [("additionalProperties", .boolean(false))] }

    /// The error for a value that fits the schema, but not the Swift type.
    func fault(in value: JsonValue, at place: String) -> SdkError? {
        switch (form, value) {
        case (.plain(let plain), _): return plain.fault(in: value, at: place)
        case (.reference(let shape), _): return shape.fault(in: value, at: place)
        case (.array(let item), .array(let values)):
            return values.enumerated().lazy.compactMap { item.fault(in: $1, at: "\(place)[\($0)]") }.first
        case (.map(let values?, _), .object(let entries)):
            return entries.lazy.compactMap { values.fault(in: $0.value, at: "\(place).\($0.name)") }.first
        case (.object(let members), .object): return Self.fault(of: members, in: value, at: place)
        case (.choice(let cases), .object(let entries)):
            let names = entries.map(\.name)
            let members = cases.first { $0.allSatisfy { $0.isOptional || names.contains($0.name) } }
            return members.flatMap { Self.fault(of: $0, in: value, at: place) }
        default: return nil
        }
    }

    private static func fault(of members: [Member], in value: JsonValue, at place: String) -> SdkError? {
        let prefix = place.isEmpty ? "" : place + "."
        return members.lazy.compactMap { member in
            value[member.name].flatMap { member.shape.fault(in: $0, at: prefix + member.name) }
        }.first
    }
}
