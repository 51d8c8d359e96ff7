//! Grammars, validation and JSON schemas accept the same arguments.

use causerie::{
    Arguments, CallGrammar, FunctionCallParser, SdkFunctionCall, SdkFunctionParameterType, Value, render_calls,
    render_json_calls, validate,
};

use crate::function_sets::{Draw, function_set};

/// A value of a type. With `strays`, sometimes another value replaces it, or a name is omitted or added.
fn value(draw: &mut Draw, wanted: &SdkFunctionParameterType, strays: bool) -> Value {
    use SdkFunctionParameterType::{SdkArr, SdkBool, SdkInt, SdkNull, SdkNum, SdkObj, SdkStr};
    if strays && draw.below(8) == 0 {
        return draw.one(&[Value::Null, true.into(), Value::Integer(3), Value::Number(2.5), "celsius".into()]);
    }
    match wanted {
        SdkStr { enum_values: Some(values), .. } => draw.one(values).as_str().into(),
        SdkNum { enum_values: Some(values), .. } => Value::Number(draw.one(values)),
        SdkInt { enum_values: Some(values), .. } => Value::Integer(draw.one(values)),
        SdkStr { .. } => draw.one(&["", "a", "it's", "\"", "\\", "two\nlines", "[f(a=1)]", "größe"]).into(),
        SdkNum { .. } => draw.one(&[Value::Integer(-3), Value::Number(0.5), Value::Number(-1e-7), Value::Number(1e20)]),
        SdkInt { .. } => Value::Integer(draw.one(&[0, -1, 123_456_789_012])),
        SdkBool { .. } => (draw.below(2) == 0).into(),
        SdkNull => Value::Null,
        SdkArr { item_type, .. } => (0..draw.below(3)).map(|_| value(draw, item_type, strays)).collect(),
        SdkObj { properties, .. } if properties.is_empty() => {
            let names = ["k", "a b"][..draw.below(3)].iter();
            Value::Object(names.map(|name| ((*name).to_owned(), draw.one(&[Value::Null, "x".into()]))).collect())
        }
        SdkObj { properties, required, .. } => {
            let members = properties.iter().map(|(name, wanted)| (name, wanted, required.contains(name)));
            Value::Object(members_of(draw, members, strays))
        }
    }
}

fn members_of<'a>(
    draw: &mut Draw,
    declared: impl Iterator<Item = (&'a String, &'a SdkFunctionParameterType, bool)>,
    strays: bool,
) -> Arguments {
    let mut members = Vec::new();
    for (name, wanted, is_required) in declared {
        let is_there = if strays { draw.below(8) != 0 } else { is_required || draw.below(2) == 0 };
        if is_there {
            let at = draw.below(members.len() + 1);
            members.insert(at, (name.clone(), value(draw, wanted, strays)));
        }
    }
    if strays && draw.below(12) == 0 {
        members.push(("undeclared".to_owned(), Value::Null));
    }
    members.into_iter().collect()
}

/// Arguments pass validation if and only if the grammars of both notations and an independent validator accept them.
#[test]
fn grammar_validation_and_schema_agree_on_valid_and_on_changed_arguments() {
    let mut draw = Draw(1);
    let mut n_fitting = [0, 0];
    for seed in 1000..1060 {
        let functions = function_set(seed);
        let python = CallGrammar::new(FunctionCallParser::DefaultFunctionCallParser, &functions, true).unwrap();
        let json = CallGrammar::new(FunctionCallParser::JsonStyleFunctionCallParser, &functions, true).unwrap();
        for i in 0..24 {
            let (function, strays) = (&functions[draw.below(functions.len())], i % 2 == 1);
            let declared = function.parameters.iter();
            let declared = declared.map(|parameter| (&parameter.name, &parameter.parameter_type, !parameter.optional));
            let arguments = members_of(&mut draw, declared, strays);
            let call = SdkFunctionCall { name: function.name.clone(), arguments, ..Default::default() };
            let fits = validate(&call, function).diagnostics.is_empty();
            assert!(fits || strays, "{call:?}");
            n_fitting[usize::from(strays)] += usize::from(fits);
            let text = render_calls(std::slice::from_ref(&call));
            assert_eq!(python.check(&text).is_ok(), fits, "{text} for {function:?}");
            let text = render_json_calls(&[call]);
            let (start, end) = FunctionCallParser::JsonStyleFunctionCallParser.markers();
            let block = text.strip_prefix(start).unwrap().strip_suffix(end).unwrap();
            assert_eq!(json.check(block).is_ok(), fits, "{text} for {function:?}");
        }
    }
    let [valid, changed] = n_fitting;
    assert!(valid == 720 && 100 < changed && changed < 620, "{changed} of the changed ones fit");
}
