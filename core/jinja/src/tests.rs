//! Tests of whole templates.

use minijinja::{Environment, State};
use minijinja_contrib::pycompat::unknown_method_callback;

use super::*;
use crate::template::whitespace;

/// The fuel of a rendering in these tests.
const FUEL: u64 = 500_000;

/// Runs code with a state of the engine that has no limits.
pub(crate) fn with_state<T>(run: impl FnOnce(&State<'_, '_>) -> T) -> T {
    let environment = Environment::new();
    run(&environment.template_from_str("").unwrap().new_state())
}

/// Renders on a large stack.
fn rendered(source: &str, variables: Value) -> Result<String, TemplateError> {
    let now = "2026-11-20T12:00:00[UTC]".parse().unwrap();
    std::thread::scope(|scope| {
        let render = || ChatTemplate::compile(source)?.render(variables, &now, Vec::new(), &Fuel::new(FUEL));
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, render);
        thread.unwrap().join().unwrap()
    })
}

fn render(source: &str) -> Result<String, TemplateError> {
    rendered(source, context! { x => vec![1, 2], flag => true })
}

#[test]
fn values_print_as_in_python() {
    assert_eq!(render("{{ 'a' ~ flag ~ none ~ x ~ 2 * 3 ~ 1.0 ~ missing }}").unwrap(), "aTrueNone[1, 2]61.0");
    assert_eq!(render("{{ x }} {{ flag }} {{ none }} {{ flag | string }}").unwrap(), "[1, 2] True None True");
}

/// Renders templates as Jinja2 did, recorded by `scripts/golden`.
#[track_caller]
fn check_golden(golden: &str) {
    let cases: Vec<serde_json::Value> = serde_json::from_str(golden).unwrap();
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let (template, expected) = (case["template"].as_str().unwrap(), case["expected"].as_str().unwrap());
            let found = render(template).map_err(|err| err.to_string());
            (found.as_deref() != Ok(expected)).then(|| format!("{template}: {found:?}, expected {expected:?}"))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn constructs_of_python_render_as_in_transformers() {
    check_golden(include_str!("../../../tests/golden/python_constructs.json"));
}

/// The expected texts come from Jinja2.
#[test]
fn filters_methods_and_tests_work_as_in_jinja2() {
    check_golden(include_str!("../../../tests/golden/filters.json"));
}

#[test]
fn json_is_ascii_on_request() {
    let source =
        "{{ {'é': '😀'} | tojson(ensure_ascii=true) }}{{ 'é' | tojson(ensure_ascii=false) }}{{ 'é' | tojson }}";
    assert_eq!(render(source).unwrap(), r#"{"\u00e9": "\ud83d\ude00"}"é""é""#);
}

#[test]
fn the_generation_tag_is_transparent() {
    assert_eq!(render("a {%- generation -%} b {%- endgeneration %} c").unwrap(), "ab c");
}

#[test]
fn the_clock_is_the_callers() {
    assert_eq!(render("{{ strftime_now('%Y-%m-%d') }}").unwrap(), "2026-11-20");
}

/// A template that must end in an error (`tests/fixtures/templates/hostile.jsonl`).
#[derive(serde::Deserialize)]
struct Hostile {
    template: String,
    /// Whether it runs out of fuel. Others are refused for what they create.
    exhausts: bool,
}

#[test]
fn hostile_templates_end_in_an_error() {
    let rows = include_str!("../../../tests/fixtures/templates/hostile.jsonl");
    let rows: Vec<Hostile> = rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    assert!(150 < rows.len());
    let failures: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let expect = if row.exhausts { TemplateErrorKind::Exhausted } else { TemplateErrorKind::Refused };
            let found = render(&row.template).map(|text| text.len()).map_err(|err| (err.kind(), err.to_string()));
            let is_right = found.as_ref().is_err_and(|(kind, _)| *kind == expect);
            (!is_right).then(|| format!("{}: {found:?}", row.template))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Renders with the engine alone, without guards.
fn render_unguarded(source: &str, variables: Value) -> String {
    let mut environment = Environment::new();
    environment.set_syntax(whitespace());
    environment.set_unknown_method_callback(unknown_method_callback);
    environment.render_str(source, variables).unwrap()
}

#[test]
fn guards_do_not_change_the_output() {
    let messages = ["system", "user", "assistant"].map(|role| context! { role, content => format!("the {role}") });
    let messages = Vec::from(messages);
    let variables = context! { messages, x => vec![3, 1, 2], d => context! { a => 1, b => "c" }, i => 1 };
    for source in [
        "{{ 'a' if i == 1 else 'b' }}{{ 'a' if not i in x and i is defined else 'b' }}",
        "{{ (i == 1) | string }}{{ i is not none and i > 0 }}{{ 0 < i < 2 }}{{ 1 == 1.0 }}",
        "{% for m in messages if m.role not in ['user'] and m['role'] != 'x' %}{{ m.content }}{% endfor %}",
        "{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ loop.index }}{% endif %}{% endfor %}",
        "{% for k, v in d.items() if k != 'a' %}{{ k }}={{ v }}{% endfor %}",
        "{% for m in (messages[1:] if messages[0].role == 'system' else messages) %}{{ m.role }}{% endfor %}",
        "{% set rest = messages[1:] if messages[0]['role'] == 'system' else messages %}{{ rest | length }}",
        "{{ messages[messages|length - 1]['role'] }}{{ messages[-1].content[-1] }}{{ messages[i].role[i:] }}",
        "{{ x[1:][0] }}{{ 'abc'[1:].upper() }}{{ [4, 5][0] }}{{ {'a': 6}['a'] }}{{ (7, 8)[i] }}",
        "{{ -x[0] == -3 }}{{ x[-1:] | list }}{{ x[i + 1:i + 2] | list }}{{ x[::-1] | list }}{{ d['a' ~ ''] }}",
        "{{ dict(a=1 == 1).a }}{% with a = 1 == 2 %}{{ a }}{% endwith %}{{ [1 == 1, 2][0] }}{{ {'a': i != 1}.a }}",
        "{% macro f(a, b=1 == 2) %}{{ a ~ b }}{% endmacro %}{{ f(i == 1) }}{{ f('q')[0] == 'q' }}",
        "{% set ns = namespace(a=0) %}{% set ns.a = 'x' if i == 1 else 'z' %}{% set ns.b, c = 1, x[0] %}{{ ns.a ~ ns.b ~ c }}",
        "{% if i == 2 %}a{% elif messages[0]['role'] in ['system', 'developer'] %}b{% else %}c{% endif %}",
        "{{ messages | selectattr('role', '==', 'user') | list | length == 1 }}{{ x | sort | first == 1 }}",
        "{{ i in x and 7 not in x or 'a' == 'b' }}{{ 'a' in d }}{{ 'yst' in messages[0].role }}{{ 'a' in missing }}",
        "{{ missing == none }}{{ missing is defined }}{{ x | max }}{{ x | map('string') | join('-') == '3-1-2' }}",
        "{{ i is eq 1 }}{{ i is in x }}{{ i is in [1, 2] }}{{ i is not in [1, 2] }}{{ i is divisibleby x[2] }}",
        "{%- set a = 'b' in 'abc' -%} {{- a == true -}} {{ not a }}{{ messages[0].content.split(' ')[-1] == 'system' }}",
        "{{ messages[0]['content'].split(' ')[0] + messages[1]['role'][:2] }}{{ (x + [4])[3] }}{{ x + [4] == [3, 1, 2, 4] }}",
    ] {
        assert_eq!(
            rendered(source, variables.clone()).unwrap(),
            render_unguarded(source, variables.clone()),
            "{source}"
        );
    }
}

/// A template that has a string of 8 MiB as `ns.y`, followed by `rest`.
fn with_long_string(rest: &str) -> String {
    let growth = "{% for i in range(19) %}{% set ns.y = ns.y ~ ns.y %}{% endfor %}";
    format!("{{% set ns = namespace(y='aaaaaaaaaaaaaaaa') %}}{growth}{rest}")
}

/// Qwen 3's template reads the number of messages for each message.
#[test]
fn the_length_of_a_list_costs_little() {
    let source =
        "{% set l = range(2000) | list %}{% for i in l %}{% if l[l | length - 1] == i %}{{ i }}{% endif %}{% endfor %}";
    assert_eq!(render(source).unwrap(), "1999");
}

#[test]
fn date_formats_are_limited() {
    for work in ["{% set x = strftime_now(ns.y) %}", "{% set x = strftime_now([ns.y, ns.y]) %}"] {
        assert!(render(&with_long_string(work)).is_err(), "{work}");
    }
    assert_eq!(render("{{ strftime_now('%d %B %Y, %H:%M') }}").unwrap(), "20 November 2026, 12:00");
}

#[test]
fn a_namespace_cannot_contain_itself() {
    let use_of = |a: &str| {
        let b = a.replace("a.", "b.").replace("= a", "= b").replace("a)", "b)").replace("[a", "[b");
        format!("{{% set a = namespace() %}}{{% set b = namespace() %}}{a}{b}{{{{ a == b }}}}")
    };
    for source in [
        "{% set a.x = a %}",
        "{% set a.x = [{'y': (1, a)}] %}",
        "{% set a.x = 1 if false else a %}",
        "{% set a.x, c = a, 1 %}",
        "{%-set (c, a.x)=(1, a)-%}",
        "{% for i in [1, a] %}{% set a.x = loop %}{% endfor %}",
        "{% set a.x | default(a, true) %}{% endset %}",
    ] {
        assert_eq!(render(&use_of(source)).unwrap_err().kind(), TemplateErrorKind::Refused, "{source}");
    }
    for source in ["{% set a.x = a.items() %}", "{% set a.x = [a | items, a.keys(), a.values()] %}"] {
        assert_eq!(render(&use_of(source)).unwrap(), "True", "{source}");
    }
    let both = "{% set a = namespace() %}{% set b = namespace(x=a) %}{% set a.x = b %}{{ raise_exception(a) }}";
    assert!(render(both).unwrap_err().to_string().contains("into a namespace"));
}

#[test]
fn values_in_a_namespace_keep_their_type() {
    let source = "{% set ns = namespace(l=[]) %}{% for i in x %}{% set ns.l = ns.l + [{'b': i, 'a': (i, 1.0)}] %}{% endfor %}{{ ns.l }}";
    assert_eq!(render(source).unwrap(), "[{'b': 1, 'a': (1, 1.0)}, {'b': 2, 'a': (2, 1.0)}]");
    assert_eq!(
        render("{% set ns = namespace() %}{% set ns.t = 1, 2 %}{{ ns.t is iterable }}{{ ns.t == (1, 2) }}").unwrap(),
        "TrueTrue"
    );
}

#[test]
fn no_function_prints_all_variables() {
    assert!(render("{{ debug() }}").is_err());
    assert!(render("{{ raise_exception(x) }}").unwrap_err().to_string().contains("[1, 2]"));
}

#[test]
fn the_message_that_a_template_raises_is_reported() {
    assert!(render("{{ raise_exception('only two roles') }}").unwrap_err().to_string().contains("only two roles"));
}

#[test]
fn a_broken_template_fails_at_load() {
    assert_eq!(render("{% if %}").unwrap_err().kind(), TemplateErrorKind::Source);
}
