"""The table of rules, for prompts and notebooks."""

import pgbn
from pgbn.nodes.rules.registry import registered, rules


def test_every_rule_has_a_line_in_text_and_in_the_notebook():
    table = rules()
    evidence, links, draws = registered()
    for rule in evidence:
        assert f"  {rule.child.__name__}.{rule.slot}" in table
        assert f"| `{rule.child.__name__}.{rule.slot}` | {rule.relation} |" in table.markdown
    for link in links:
        assert f"| `{link.node.__name__}.{link.slot}` |" in table.markdown
    for draw in draws:
        name, kind = (
            f"{draw.name!r}" if draw.name else "",
            draw.kind if draw.receives else "densities",
        )
        assert f"| `{draw.node.__name__}` | {name} | {kind} |" in table.markdown
    assert repr(table) == str(table)
    assert table._repr_markdown_() == table.markdown


def test_formulas_are_plain_at_a_prompt():
    assert "\\" not in rules()
    assert "$" in rules().markdown
    assert pgbn.rules() == rules()
    rows = [line for line in rules().markdown.splitlines() if line.startswith("| `")]
    assert all(line.count("|") == 5 for line in rows)
