"""Filters, methods and tests of Jinja2 and Python that chat templates use, as Jinja2 renders them."""

import json

from jinja2.sandbox import ImmutableSandboxedEnvironment

TEMPLATES = [
    "{{ 'a\nb\n\nc' | indent }}",
    "{{ 'a\nb\n\nc' | indent(2, true) }}",
    "{{ 'a\nb\n\nc' | indent(width=2, blank=true) }}",
    "{{ 'a\nb' | indent('> ', first=True) }}",
    "{{ '%s is %d' | format('x', 3) }}",
    "{{ '%05.1f|%-5s|%5s|%%|%r|%x' | format(2.25, 'ab', 'cd', 'e', 255) }}",
    "{{ '%03d' | format(-7) }}",
    "{{ '[' ~ 'ab' | center(7) ~ ']' }}",
    "{{ '[' ~ 'abc' | center(6) ~ ']' }}",
    "{{ 'one two, three_four' | wordcount }}",
    "{{ 'foo bar baz qux' | truncate(9) }}",
    "{{ 'foo bar baz qux' | truncate(9, True) }}",
    "{{ 'foo bar baz qux' | truncate(11) }}",
    "{{ 'foo bar baz qux' | truncate(length=11, leeway=0, end='…') }}",
    "{{ [1,2,3,4,5] | batch(2) | list }}",
    "{{ [1,2,3,4,5] | batch(2, 0) | list }}",
    "{% for b in [1,2,3] | batch(2, fill_with='-') %}{{ b | join }};{% endfor %}",
    "{{ [1,2,3,4,5] | slice(3) | list }}",
    "{{ [1,2,3,4,5] | slice(3, 'x') | list }}",
    "{% for k, g in [{'t': 'B', 'n': 1}, {'t': 'a', 'n': 2}, {'t': 'b', 'n': 3}] | groupby('t') %}"
    "{{ k }}:{% for i in g %}{{ i.n }}{% endfor %};{% endfor %}",
    "{% for g in [{'t': {'u': 2}}, {'t': {'u': 1}}] | groupby('t.u') %}{{ g[0] }}={{ g[1] | length }};{% endfor %}",
    "{{ 'a b/c&d' | urlencode }}",
    "{{ {'a b': 'c/d', 'e': 1} | urlencode }}",
    "{{ '<a href=\"x\">' | forceescape }}",
    "{{ 'it' | pprint }}",
    "{{ 'prefix-x'.removeprefix('prefix-') }}{{ 'x-suffix'.removesuffix('-suffix') }}{{ 'x'.removeprefix('y') }}",
    "{{ 'Straße Ab'.swapcase() }}",
    "{{ 'ABC'.casefold() }}",
    "{{ 'éab'.index('b') }}{{ 'abab'.rindex('a') }}",
    "{{ '7'.zfill(3) }}{{ '-7'.zfill(4) }}",
    "{{ 'a'.ljust(3, '.') }}{{ 'a'.rjust(3) }}{{ 'ab'.center(5, '*') }}",
    "{{ 'a=b=c'.partition('=') }}{{ 'a=b=c'.rpartition('=') }}{{ 'a'.partition('=') }}",
    "{{ 'a.b.c'.rsplit('.', 1) }}{{ ' a  b c '.rsplit() }}{{ 'a b c'.rsplit(None, 1) }}{{ 'a.b'.rsplit('.') }}",
    "{{ '12'.isdecimal() }}{{ ''.isdecimal() }}{{ 'Ab Cd'.istitle() }}{{ 'ab'.istitle() }}",
    "{{ '{} and {}'.format('a', 1) }}",
    "{{ '{1}{0}{{}}'.format('a', 'b') }}",
    "{{ '{name}!'.format(name='x') }}",
    "{{ [3,4,5].index(4) }}",
    "{{ 'a,b'.split(',') | last }}",
    "{{ {'b': 1, 'a': 2} | dictsort | map('first') | join }}",
    "{{ [1,2,3,4] | select('divisibleby', 2) | list }}",
    "{{ ['a','B'] | map('upper') | join(d='-') }}",
    "{{ [{'a': 1}, {'a': None}] | selectattr('a') | list | length }}",
    "{{ [{'a': 'x'}, {}] | selectattr('a', 'defined') | map(attribute='a') | list }}",
    "{{ [{'a': 'x'}, {'a': 'y'}] | rejectattr('a', 'equalto', 'x') | map(attribute='a') | first }}",
    "{{ 3.7 | round }}{{ 3.14159 | round(2) }}{{ 3.2 | round(method='ceil') }}{{ 3.7 | round(0, 'floor') }}",
    "{{ '3' | int + 1 }}{{ 'x' | int }}{{ '2.5' | float }}{{ '0x1f' | int(base=16) }}",
    "{{ [1, 2] | first }}{{ [1, 2] | last }}{{ 'abc' | first }}",
    "{{ {'a': 1}.items() | list }}{{ {'a': 1} | items | list }}",
    "{{ none | default('x', true) }}{{ missing | default('y') }}{{ '' | d('z', boolean=true) }}",
    "{{ 'a b' | title }}{{ 'AB' | capitalize }}{{ ' a ' | trim }}{{ 'xax' | trim('x') }}",
    "{{ 'a-b' | replace('-', '+') }}{{ 'aaa' | replace('a', 'b', 2) }}{{ 'aaa'.replace('a', 'b', 1) }}",
    "{{ [3,1,2] | sort(reverse=true) | list }}{{ [1,1,2] | unique | list }}{{ [1,2,3] | reverse | list }}{{ 'abc' | reverse }}",
    "{{ [1,2,3] | sum }}{{ [1,5,2] | max }}{{ [4,5,2] | min }}",
    "{{ [[1,2],[3]] | sum(start=[]) }}",
    "{{ -3 | abs }}{{ 'x' | attr('nope') is undefined }}",
    "{{ 1 is odd }}{{ 2 is even }}{{ 'A' is upper }}{{ 3 is integer }}{{ 3.0 is float }}{{ none is none }}",
    "{{ [] is sequence }}{{ {} is mapping }}{{ true is boolean }}{{ true is true }}{{ 3 is in [3] }}",
    "{{ 'lstrip me'.lstrip('l') }}{{ 'xx'.strip('x') }}{{ 'ab\\ncd'.splitlines() }}{{ 'aXb'.lower() }}",
    "{{ 'a b c'.split(' ', 1) }}{{ 'abc'.startswith(('x', 'a')) }}{{ 'abc'.endswith('c') }}",
    "{{ 'abca'.count('a') }}{{ 'abc'.find('z') }}",
]


def write_filters(golden):
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    cases = [{"template": template, "expected": environment.from_string(template).render()} for template in TEMPLATES]
    lines = ",\n".join("  " + json.dumps(case, ensure_ascii=False) for case in cases)
    (golden / "filters.json").write_text(f"[\n{lines}\n]\n")
