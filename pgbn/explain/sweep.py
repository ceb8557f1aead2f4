"""Part three: every conditional in the order of the sweep, and why that order is valid."""

from __future__ import annotations

from collections.abc import Sequence

from pgbn.explain.document import Block, Equations, Heading, Items, Paragraph, code, join
from pgbn.explain.first_layer import token_lines
from pgbn.explain.lemmas import Lemmas, chain_lemma, lemma_of_draw, lemmas_of_rule, passage
from pgbn.explain.notation import Notation
from pgbn.explain.sampler import ExplainedSampler
from pgbn.explain.steps import (
    count_lines,
    data_line,
    draw_lines,
    kernel_reason,
    link_lemma,
    random_slots,
)
from pgbn.network.evidence import CountsRead, Read
from pgbn.network.schedule import Freshness
from pgbn.network.steps import Step
from pgbn.nodes.base import Node
from pgbn.nodes.rules import find_link

# ---- Why the order of a sweep is valid: the argument, and how it goes for this network ----


def validity(notation: Notation, lemmas: Lemmas, sampler: ExplainedSampler) -> list[Block]:
    """The theorem with its proof, and the path of every value that goes stale."""
    steps = sampler.schedule.steps
    if sampler.schedule.faults:
        return _faults(notation, sampler)
    items = [
        _life(notation, lemmas, steps, node.name)
        for node in notation.network
        if any(node.name in step.marginalises for step in steps)
    ]
    by_token = any(sampler.labels(step) for step in steps)
    completed = any(step.node in notation.wiring.completed for step in steps)
    by_kernel = any(rule.reads_value for rule in notation.wiring.draws.values())
    ways = ["token by token"] * by_token + ["by pseudo-counts that are discarded"] * completed
    ways += ["beginning from a current value"] * by_kernel
    invariant = f" (or, {' or '.join(ways)}, leaves it invariant)" if ways else ""
    blocks: list[Block] = [
        Heading(3, "Why the order is valid"),
        Paragraph(passage("order", invariant=invariant)),
        Paragraph(_whole(notation, steps)),
    ]
    if items:
        blocks += [
            Paragraph(
                "It remains to show that no step reads a stale value. Counts are drawn anew, from "
                "the data up, before they are read. The values in this sweep:"
            ),
            Items(tuple(items)),
        ]
    blocks.append(Paragraph(passage("partially collapsed")))
    return blocks


def _faults(notation: Notation, sampler: ExplainedSampler) -> list[Block]:
    """What an order that was not checked does wrong."""
    items = [
        f"step {sampler.schedule.names.index(step) + 1} ({code(step)}) reads {code(read)}, which "
        f"{code(culprit)} has integrated out"
        for step, read, culprit in sampler.schedule.faults
    ]
    return [
        Heading(3, "Why the order is not valid"),
        Paragraph(passage("wrong order")),
        Items(tuple(items)),
    ]


def _whole(notation: Notation, steps: Sequence[Step]) -> str:
    """What is current at the end of a sweep."""
    freshness = Freshness()
    for step in steps:
        freshness.run(step)
    left = [name for name in freshness.stale if any(step.name == name for step in steps)]
    if not left:
        return (
            "At the end nothing is stale: the claim is then that all variables together have the "
            "posterior distribution, as before the sweep. The sweep leaves it unchanged."
        )
    return (
        f"At the end {join(map(code, left))} {'is' if len(left) == 1 else 'are'} stale, and drawn "
        "before they are read; all other variables have their posterior distribution, as before "
        "the sweep. The sweep leaves it unchanged."
    )


def _life(notation: Notation, lemmas: Lemmas, steps: Sequence[Step], name: str) -> str:
    """When a value goes stale, who reads it until it is drawn, and when that is."""
    own = [number for number, step in enumerate(steps, 1) if step.name == name]
    culprits = [number for number, step in enumerate(steps, 1) if name in step.marginalises]
    order = [*range(1, len(steps) + 1)] * 2
    first = culprits[0]
    drawn = next(number for number in order[first:] if number in own)
    between = order[first : order.index(drawn, first)]
    words = f"{code(name)} is stale from step {first} ({code(steps[first - 1].name)}) on"
    again = [number for number in culprits if number != first and number in between]
    if again:
        words += f", once more after step{'s' if len(again) > 1 else ''} {join(map(str, again))}"
    demand = steps[drawn - 1].on_demand
    words += f", until step {drawn} draws it" + (" on demand" if demand else "") + ". "
    readers = [(number, read) for number in between for read in steps[number - 1].reads
               if read.name == name]  # fmt: skip
    if not between:
        return words + "No step comes between."
    span = _span(between)
    if not readers:
        return f"{words}{span} {'does' if len(between) == 1 else 'do'} not read it."
    return words + _exempt(notation, lemmas, readers)


def _span(numbers: Sequence[int]) -> str:
    """Step 7, Steps 7 to 12, or Steps 12, 13 and 1."""
    if len(numbers) == 1:
        return f"Step {numbers[0]}"
    if numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"Steps {numbers[0]} to {numbers[-1]}"
    return f"Steps {join(map(str, numbers))}"


def _exempt(notation: Notation, lemmas: Lemmas, readers: Sequence[tuple[int, Read]]) -> str:
    """The steps that read a sum that is current although the value is stale."""
    numbers = list(dict.fromkeys(number for number, _ in readers))
    dims = sorted({dim for _, read in readers for dim in read.summed})
    over = join(f"${notation.index[dim]}$" for dim in dims)
    verb = "reads" if len(numbers) == 1 else "read"
    return (
        f"Of the steps between, {_span(numbers).lower()} {verb} its sum over {over} alone, which "
        f"{lemmas.cite('sums')} keeps current."
    )


def sweep(notation: Notation, lemmas: Lemmas, sampler: ExplainedSampler) -> list[Block]:
    """One sweep, step by step."""
    network = notation.network
    steps = list(sampler.schedule)
    whose = (
        "The order below was not checked."
        if sampler.schedule.faults
        else "The order below was given by the user; it has passed the same check as a derived one."
        if network.order is not None
        else "The order below was derived from the graph and checked."
    )
    blocks: list[Block] = [
        Heading(2, "One sweep of the Gibbs sampler"),
        Paragraph(f"{whose} {passage('sweep')}"),
    ]
    freshness = Freshness()
    if sampler.schedule.faults:  # begin as after such a sweep
        for step in steps:
            freshness.run(step)
    for number, step in enumerate(steps, 1):
        blocks += _step(notation, lemmas, sampler, number, step, freshness)
        freshness.run(step)
    return [*blocks, *validity(notation, lemmas, sampler)]


def step_lines(notation: Notation, sampler: ExplainedSampler, step: Step) -> list[str]:
    """The equations of a step as this sampler draws it."""
    node = notation.network.nodes[step.node]
    if not step.upward:
        members = [notation.network.nodes[name] for name in step.draws]
        return [line for member in members for line in draw_lines(notation, member)]
    if sampler.labels(step):
        return token_lines(notation, sampler, step)
    return count_lines(notation, node, step.node in sampler.missing)


def _step(
    notation: Notation,
    lemmas: Lemmas,
    sampler: ExplainedSampler,
    number: int,
    step: Step,
    freshness: Freshness,
) -> list[Block]:
    node, steps = notation.network.nodes[step.node], sampler.schedule.steps
    lines = step_lines(notation, sampler, step)
    reason = (
        "By the derivation of the first layer above." if sampler.labels(step)
        else _reason(notation, lemmas, step, node)
    )  # fmt: skip
    if step.upward and step.node in sampler.missing:
        reason += (
            " A missing cell is one more unknown: its conditional given the values is its own "
            "distribution, and once it is drawn the rest of the sweep is as with full data."
        )
    flag = " (drawn on demand: no step reads it)" if step.on_demand else ""
    method = f" [{step.method}]" if step.method else ""
    drawn = not step.upward or data_line(notation, node) not in lines
    texts = (
        reason if drawn else "Nothing is drawn.",
        _sequential(notation, step),
        _reads(notation, lemmas, steps, step, freshness) if drawn else "",
        _marginalises(notation, steps, number, step),
    )
    return [
        Heading(3, f"Step {number}: {code(step.name)}{method}{flag}"),
        Equations(tuple(lines), (f"step {number} {step.name}",) * len(lines)),
        Paragraph(" ".join(filter(None, texts))),
    ]


def _sequential(notation: Notation, step: Step) -> str:
    """How entries of one product are drawn."""
    if step.sequential is None:
        return ""
    own, index = f"${notation.bare(step.node)}$", f"${notation.index[step.sequential.dim]}$"
    others = [f"${notation.bare(name)}$" for name in step.draws if name != step.node]
    words = passage("in a product", own=own, index=index)
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
        phases = [phase for _, phase, _ in notation.rows(node)]
        if any(notation.is_split(node, slot, phase) for slot in node.slots() for phase in phases
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
        return "It integrates nothing out: all nodes that depend on it are fixed."
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
