//! Templates that make much of little, and those that do not.

use super::*;
use minijinja::context;

fn rendered(template: &str) -> Result<String, String> {
    let mut environment = Environment::new();
    environment.set_fuel(Some(5_000_000));
    guard(&mut environment);
    environment.add_template("t", template).map_err(|error| error.to_string())?;
    render(&environment, "t", context! { name => "Ann", list => vec![1, 2, 3] })
        .map_err(|error| error.to_string())
}

#[test]
fn little_is_not_made_into_much() {
    let twice = |start: &str, step: &str| {
        format!(
            "{{% set ns = namespace(x={start}) %}}{{% for i in range(40) %}}{step}{{% endfor %}}{{{{ ns.x|length }}}}"
        )
    };
    for template in [
        twice("'a' * 1000", "{% set ns.x = ns.x ~ ns.x %}"),
        twice("'a' * 1000", "{% set ns.x = ns.x + ns.x %}"),
        twice("'a' * 1000", "{% set ns.x = ns.x * 2 %}"),
        twice("'a' * 1000", "{% set ns.x = ns.x.replace('a', 'aa') %}"),
        twice("'a' * 1000", "{% set ns.x = ns.x|replace('a', ns.x) %}"),
        twice("'a' * 1000", "{% set ns.x = [ns.x, ns.x]|join(ns.x) %}"),
        twice("'a' * 1000", "{% set ns.x = ns.x.join([ns.x, ns.x]) %}"),
        twice("'a' * 1000", "{% set t %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = t %}"),
        twice("'a' * 1000", "{% macro m(t) %}{{ t }}{{ t }}{% endmacro %}{% set ns.x = m(ns.x) %}"),
        twice("[1]", "{% set ns.x = [ns.x, ns.x] %}"),
        twice("[1]", "{% set ns.x = {'a': ns.x, 'b': ns.x} %}"),
        twice("[1]", "{% set ns.x = ns.x + ns.x %}"),
        "{{ '%999999999d'|format(1) }}".to_owned(),
        "{{ '{:>999999999}'.format(1) }}".to_owned(),
        format!(
            "{{% set x %}}{{% for i in range(99999) %}}{}{{% endfor %}}{{% endset %}}",
            "long text ".repeat(1_000)
        ),
        "{% for i in range(99) %}{{ 'a' * 9999999 }}{% endfor %}".to_owned(),
    ] {
        let error = rendered(&template).expect_err(&template);
        assert!(error.contains("of more than") || error.contains("four digits"), "{template}: {error}");
    }
}

#[test]
fn what_is_weighed_is_what_it_was() {
    for template in [
        "a text that is long: {{ name ~ 1 ~ none }} {{ missing }}|",
        "{{ 'a' + 'b' }}{{ [1] + [2] }}{{ 'ab' * 2 }}{{ 1 + 2 }}{{ 2 * 3.5 }}",
        "{{ list|join(', ') }} {{ '-'.join(['a', 'b']) }} {{ 'abc'|join('.') }}",
        "{{ list|map('string')|join(d='+') }}",
        "{{ 'aXa'.replace('X', 'y') }}{{ 'aXa'|replace('X', 'z') }}",
        "{{ '%s %03d'|format('a', 7) }} {{ '{} {}'.format('a', 7) }}",
        "{% for i in list %}{% if i == 2 %}{% continue %}{% endif %}{{ loop.index }}{% else %}no{% endfor %}",
        "{% for i in list if i > 1 %}{{ i }}{% endfor %}{% for i in [] %}{% else %}none{% endfor %}",
        "{% macro m(a, b='x' ~ 'y') %}[{{ a }}{{ b }}]{{ caller() if caller else '' }}{% endmacro %}\
         {{ m(1) }}{{ m(2, b=3) }}{% call m(4) %}{{ name }}{% endcall %}",
        "{% for i in [[1, [2]], 3] recursive %}{% if i is iterable %}({{ loop(i) }}){% else %}{{ i }}{% endif %}{% endfor %}",
        "{{ (name if name else 'x') ~ (missing or 'y') ~ (name and 'z') }}",
        "{% set x %}{{ name }} and a long text{% endset %}{{ x|upper }}",
        "{% filter upper %}{{ name }}{% endfilter %}{% block b %}{{ 'a' ~ 'b' }}{% endblock %}",
        "{{ {'a': [1, 'x']} }}{{ 1 < 2 < 3 }}{{ [1, 2, 3][1:] }}{{ {'a': 1}.items()|list }}",
    ] {
        let mut plain = Environment::new();
        plain.set_unknown_method_callback(unknown_method_callback);
        let values = context! { name => "Ann", list => vec![1, 2, 3] };
        let usual = plain.render_str(template, values).expect(template);
        assert_eq!(rendered(template), Ok(usual), "{template}");
    }
    let error = rendered("a\n{{ name ~ 'x' }}\n{{ missing.a.b ~ 'x' }}").expect_err("undefined");
    assert!(error.contains("t:3"), "{error}");
}
