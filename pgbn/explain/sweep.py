"""Part three: every conditional in the order of the sweep, and why that order is valid."""

from __future__ import annotations

from collections.abc import Sequence

from pgbn.explain.document import Block, Equations, Heading, Paragraph, code, join
from pgbn.explain.kernels import kernel_reason
from pgbn.explain.lemmas import Lemmas, chain_lemma, lemma_of_draw, lemmas_of_rule
from pgbn.explain.links import link_lemma
from pgbn.explain.notation import Notation
from pgbn.explain.steps import count_lines, draw_lines, random_slots
from pgbn.explain.tokens import token_lines
from pgbn.explain.validity import validity
from pgbn.explain.way import Way
from pgbn.network.reads import CountsRead, Read
from pgbn.network.schedule import Freshness
from pgbn.network.steps import Step
from pgbn.nodes.base import Node
from pgbn.nodes.rules.registry import find_link

__all__ = ["step_lines", "sweep"]


def sweep(notation: Notation, lemmas: Lemmas, way: Way) -> list[Block]:
    """One sweep, step by step."""
    network = notation.network
    steps = list(way.schedule)
    whose = (
        "The order below was not checked."
        if way.schedule.faults
        else "The order below was given by the user; it has passed the same check as a derived one."
        if network.order is not None
        else "The order below was derived from the graph and checked."
    )
    blocks: list[Block] = [
        Heading(2, "One sweep of the Gibbs sampler"),
        Paragraph(
            f"{whose} Counts are drawn from the data up; then values are drawn, most of them from "
            "the roots down. A draw with another node integrated out conditions on less, which "
            "mixes better, but leaves that node stale: its value belongs to the old parent, and it "
            "must be redrawn before any step conditions on it (van Dyk & Park 2008). For every "
            "step: what it reads, what it integrates out, and why what it reads is current."
        ),
    ]
    freshness = Freshness()
    if way.schedule.faults:  # begin as after such a sweep
        for step in steps:
            freshness.run(step)
    for number, step in enumerate(steps, 1):
        blocks += _step(notation, lemmas, way, number, step, freshness)
        freshness.run(step)
    return [*blocks, *validity(notation, lemmas, way)]


def step_lines(notation: Notation, way: Way, step: Step) -> list[str]:
    """The equations of a step as this sampler draws it."""
    node = notation.network.nodes[step.node]
    if not step.upward:
        members = [notation.network.nodes[name] for name in step.draws]
        return [line for member in members for line in draw_lines(notation, member)]
    if way.labels(step):
        return token_lines(notation, way, step)
    return count_lines(notation, node, step.node in way.missing)


def _step(
    notation: Notation,
    lemmas: Lemmas,
    way: Way,
    number: int,
    step: Step,
    freshness: Freshness,
) -> list[Block]:
    node, steps = notation.network.nodes[step.node], way.schedule.steps
    lines = step_lines(notation, way, step)
    reason = (
        "By the derivation of the first layer above." if way.labels(step)
        else _reason(notation, lemmas, step, node)
    )  # fmt: skip
    if step.upward and step.node in way.missing:
        reason += (
            " A missing cell is one more unknown: its conditional given the values is its own "
            "distribution, and once it is drawn the rest of the sweep is as with full data."
        )
    flag = " (drawn only when somebody looks at it: no step reads it)" if step.on_demand else ""
    method = f" [{step.method}]" if step.method else ""
    texts = (
        reason,
        _in_turn(notation, step),
        _reads(notation, lemmas, steps, step, freshness),
        _marginalises(notation, steps, number, step),
    )
    return [
        Heading(3, f"Step {number}: {code(step.name)}{method}{flag}"),
        Equations(tuple(lines), (f"step {number} {step.name}",) * len(lines)),
        Paragraph(" ".join(filter(None, texts))),
    ]


def _in_turn(notation: Notation, step: Step) -> str:
    """How entries are drawn that stand beside each other in a product."""
    if step.in_turn is None:
        return ""
    own, index = f"${notation.bare(step.node)}$", f"${notation.index[step.in_turn.dim]}$"
    others = [f"${notation.bare(name)}$" for name in step.draws if name != step.node]
    words = (
        f"{own} stands several times in a product, but no entry beside itself, so that each is "
        f"drawn by the lemma given the others: for one {index} after another, with the new entries "
        "before it and the old ones after it."
    )
    if others:
        words += (
            f" For each {index}, {join(others)} {'comes' if len(others) == 1 else 'come'} first, "
            f"with that entry of {own} integrated out, and the entry at once after it: no other "
            "entry is drawn given one that is stale."
        )
    return words


def _reason(notation: Notation, lemmas: Lemmas, step: Step, node: Node) -> str:
    """Which lemma, or whose rule, the draw rests on."""
    keys: list[str] = []
    own: list[str] = []
    if not step.upward and notation.wiring.draws[node.name].kernel:
        key = lemma_of_draw(notation.wiring.draws[node.name])
        cited = f"By {lemmas.cite(key)}. " if key else ""
        return cited + kernel_reason(notation, node)
    if step.upward:
        link = link_lemma(node)
        keys += [link] if link else []
        rules = [notation.wiring.rules[node.name, slot] for slot in random_slots(notation, node)]
        for rule in rules:
            keys += [key for key in lemmas_of_rule(rule) if key != "gamma"]
        if any(notation.is_split(node, slot) for slot in node.slots()
               if (node.name, slot) in notation.wiring.rules):  # fmt: skip
            keys.append(_split_key(notation, node))
        if notation.along(node) is not None:
            keys.append(chain_lemma(node))
        own += [rule.reference for rule in rules if not lemmas_of_rule(rule)]
    else:
        sources = notation.wiring.sources[node.name]
        held = {"rate", "odds", "bernoulli", "precision"}
        found = [key for s in sources for key in lemmas_of_rule(s.rule) if key in held]
        if notation.wiring.draws[node.name].constant_over_simplex and any(
            not s.rule.normalised for s in sources
        ):
            completed = node.name in notation.wiring.completed
            found.append("completion" if completed else "simplex")
        draw = lemma_of_draw(notation.wiring.draws[node.name])
        if draw and not all(set(lemmas_of_rule(s.rule)) & held for s in sources):
            found.append(draw)
        keys += found
        if notation.along(node) is not None:
            keys.append(chain_lemma(node))
        if not keys:
            own.append(notation.wiring.draws[node.name].reference)
    texts = [f"By {lemmas.cite(*keys)}."] if keys else []
    texts += [f"({text[0].upper()}{text[1:]}.)" for text in dict.fromkeys(own) if text]
    return " ".join(texts)


def _split_key(notation: Notation, node: Node) -> str:
    link = find_link(node)
    rule = notation.wiring.rules.get((node.name, link.slot)) if link is not None else None
    return "multinomial" if rule is not None and rule.normalised else "split"


def _reads(
    notation: Notation,
    lemmas: Lemmas,
    steps: Sequence[Step],
    step: Step,
    freshness: Freshness,
) -> str:
    """What the step conditions on, and why that is current."""
    reads = sorted(step.reads, key=lambda read: (read.name, *sorted(read.summed)))
    if not reads:
        return "It reads only the data and constants."
    text = f"It reads {join(dict.fromkeys(_show(notation, read) for read in reads))}"
    stale = [read for read in reads if not freshness.is_current(read)]
    if stale:
        names = join(dict.fromkeys(_show(notation, read) for read in stale))
        return f"{text}, of which {names} {'is' if len(stale) == 1 else 'are'} stale: a mistake."
    exempt = [read for read in reads if freshness.is_current_sum(read)]
    if not exempt:
        return f"{text}, all current."
    parts = []
    for read in exempt:
        dims = join(f"${notation.index[d]}$" for d in sorted(read.summed))
        since = steps.index(freshness.left_by[read.name]) + 1
        parts.append(f"{code(read.name)} is stale since step {since}, but only its sum over {dims} "
                     "is read")  # fmt: skip
    return f"{text}: {'; '.join(parts)}, which {lemmas.cite('sums')} keeps current."


def _show(notation: Notation, read: Read) -> str:
    if isinstance(read, CountsRead):
        return code(read.name)
    if read.summed:
        dims = join(f"${notation.index[dim]}$" for dim in sorted(read.summed))
        return f"${notation.bare(read.name)}$ summed over {dims}"
    return f"${notation.bare(read.name)}$"


def _marginalises(notation: Notation, steps: Sequence[Step], number: int, step: Step) -> str:
    """What the step integrates out, and when that is drawn anew."""
    ordered = [other.name for other in (*steps[number:], *steps[:number])]
    left_out = sorted(step.marginalises, key=ordered.index)
    values = [name for name in left_out if name in notation.network.nodes]
    counts = [name for name in left_out if name not in notation.network.nodes]
    if step.upward:
        texts = [
            "Nothing above it has counts." if not counts else
            f"The counts above ({join(map(code, counts))}) belonged to the old ones and are drawn "
            f"anew {_when(steps, number, counts)}."
        ]  # fmt: skip
        if values:
            gone, one = join(f"${notation.bare(name)}$" for name in values), len(values) == 1
            texts.append(f"It integrates out {gone}: {'that is' if one else 'they are'} drawn "
                         f"anew {_when(steps, number, values)}.")  # fmt: skip
        return " ".join(texts)
    if not values and not counts:
        return "It integrates nothing out: all that depends on it is held."
    stale = join([*(f"${notation.bare(name)}$" for name in values), *map(code, counts)])
    one = len(values) + len(counts) == 1
    return (
        f"It integrates out {stale}: {'that is' if one else 'they are'} stale until drawn anew "
        f"{_when(steps, number, [*values, *counts])}."
    )


def _when(steps: Sequence[Step], number: int, names: Sequence[str]) -> str:
    """ "in steps 3 and 4"; a step of the next sweep if it comes before."""
    found = {n: step.name for n, step in enumerate(steps, 1) if step.name in names}
    later = [n for n in found if n > number]
    wrapped = [n for n in found if n <= number]
    parts = []
    if later:
        parts.append(f"in step{'s' if len(later) > 1 else ''} {join(map(str, later))}")
    if wrapped:
        plural = "s" if len(wrapped) > 1 else ""
        parts.append(f"in step{plural} {join(map(str, wrapped))} of the next sweep")
    return " and ".join(parts)
