"""The table of rules, for prompts and notebooks."""

import pgbn
from pgbn.nodes.rules import registered


def test_every_rule_has_a_line_in_text_and_in_the_notebook():
    table = pgbn.rules()
    evidence, links, draws = registered()
    for rule in evidence:
        assert f"  {rule.child.__name__}.{rule.slot}" in table
        assert f"| `{rule.child.__name__}.{rule.slot}` | {rule.relation} |" in table.markdown
    for link in links:
        assert f"| `{link.node.__name__}.{link.slot}` |" in table.markdown
    for draw in draws:
        name = repr(draw.name) if draw.name else ""
        kind = draw.kind if draw.receives else "densities"
        assert f"| `{draw.node.__name__}` | {name} | {kind} |" in table.markdown
    assert repr(table) == str(table)
    assert "\\" not in table
    rows = [line for line in table._repr_markdown_().splitlines() if line.startswith("| `")]
    assert all(line.count("|") == 5 for line in rows)
