"""The short form: the model, its exposures, and the sweep with similar steps put together."""

from __future__ import annotations

from itertools import groupby

from pgbn.explain.augmentation import count_line, exposures
from pgbn.explain.document import Block, Equations, Heading, Paragraph, code, join
from pgbn.explain.lemmas import passage
from pgbn.explain.model import generative
from pgbn.explain.notation import Notation
from pgbn.explain.sampler import ExplainedSampler
from pgbn.explain.sweep import step_lines
from pgbn.network.steps import Step


def brief_blocks(notation: Notation, sampler: ExplainedSampler) -> list[Block]:
    """Model and sweep on about two pages, without proofs."""
    blocks: list[Block] = [
        Paragraph(passage("short notation")),
        *generative(notation),
        Heading(2, "What is received from below"),
        *_counts(notation),
        *(block for block in exposures(notation) if not isinstance(block, Heading)),
        Heading(2, "One sweep"),
    ]  # fmt: skip
    numbered = list(enumerate(sampler.schedule, 1))
    for _, like in groupby(numbered, key=lambda pair: _kind(notation, pair[1])):
        blocks += _group(notation, sampler, list(like))
    return blocks


def _counts(notation: Notation) -> list[Block]:
    """m = …, of the nodes that pass on what they receive."""
    names = [name for name in reversed(notation.network.nodes) if name in notation.passing]
    lines = tuple(count_line(notation, notation.network.nodes[name]) for name in names)
    return [Equations(lines, tuple(f"count {name}" for name in names))] if lines else []


def _kind(notation: Notation, step: Step) -> tuple[object, ...]:
    """The kind of a step: counts of data, tables, draws of one type of node."""
    node = notation.network.nodes[step.node]
    return (step.upward, type(node), step.method, step.on_demand)


def _group(
    notation: Notation, sampler: ExplainedSampler, like: list[tuple[int, Step]]
) -> list[Block]:
    lines: list[str] = []
    labels: list[str] = []
    for number, step in like:
        lines += step_lines(notation, sampler, step)
        labels += [f"step {number} {step.name}"] * (len(lines) - len(labels))
    first, last = like[0][0], like[-1][0]
    between = "and" if last == first + 1 else "to"
    steps = f"Step {first}" if first == last else f"Steps {first} {between} {last}"
    gone = dict.fromkeys(name for _, step in like for name in step.marginalises
                         if name in notation.network.nodes)  # fmt: skip
    words = f"{steps}: {join(code(step.name) for _, step in like)}"
    if gone:
        words += f", with {join(f'${notation.bare(name)}$' for name in gone)} integrated out"
    words += " (drawn on demand)" if like[0][1].on_demand else ""
    return [Paragraph(f"{words}."), Equations(tuple(lines), tuple(labels))]
