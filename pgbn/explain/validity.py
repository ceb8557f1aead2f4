"""Why the order of a sweep is valid: the argument, and how it goes for this network."""

from __future__ import annotations

from collections.abc import Sequence

from pgbn.explain.document import Block, Heading, Items, Paragraph, code, join
from pgbn.explain.lemmas import Lemmas
from pgbn.explain.notation import Notation
from pgbn.explain.way import Way
from pgbn.network.reads import Read
from pgbn.network.schedule import Freshness
from pgbn.network.steps import Step

__all__ = ["validity"]


def validity(notation: Notation, lemmas: Lemmas, way: Way) -> list[Block]:
    """The theorem with its proof, and for every value that goes stale its way through the sweep."""
    steps = way.schedule.steps
    if way.schedule.faults:
        return _faults(notation, way)
    items = [
        _life(notation, lemmas, steps, node.name)
        for node in notation.network
        if any(node.name in step.marginalises for step in steps)
    ]
    by_token = any(way.labels(step) for step in steps)
    completed = any(step.node in notation.wiring.completed for step in steps)
    by_kernel = any(rule.reads_value for rule in notation.wiring.draws.values())
    ways = ["token by token"] * by_token + ["by pseudo-counts that are forgotten"] * completed
    ways += ["beginning from a current value"] * by_kernel
    invariant = f" (or, {' or '.join(ways)}, leaves it invariant)" if ways else ""
    exact = f"draws from the conditional distribution{invariant}"
    blocks: list[Block] = [
        Heading(3, "Why the order is valid"),
        Paragraph(
            "Call what is not stale current. Claim: if at some moment the current variables (data, "
            "counts, values) have their posterior distribution, the stale ones left out, then so "
            "they have after any step that reads current variables only. "
            f"Proof: the step {exact} of what it draws, A, given the current variables without B, "
            "which "
            "it integrates out; what it does not read does not enter that conditional. Before the "
            "step the current variables without A and B have their posterior distribution, since "
            "leaving variables out keeps it; a draw of A from its conditional gives A and these "
            "their joint posterior distribution. B is stale from here, A is current. That is the "
            "claim after the step, and by induction it holds after every step of a sweep."
        ),
        Paragraph(_whole(notation, steps)),
    ]
    if items:
        blocks += [
            Paragraph(
                "It remains to see that no step reads what is stale. Counts are drawn anew, from "
                "the data up, before they are read. The values in this sweep:"
            ),
            Items(tuple(items)),
        ]
    blocks.append(Paragraph(
        "Such a sweep is a partially collapsed Gibbs sampler (van Dyk & Park 2008). "
        "`net.with_order([...])` runs the same check on any other order, over two sweeps, so that "
        "the end of one is a valid beginning of the next."))  # fmt: skip
    return blocks


def _faults(notation: Notation, way: Way) -> list[Block]:
    """What an order that was not checked does wrong."""
    items = [
        f"step {way.schedule.names.index(step) + 1} ({code(step)}) reads {code(read)}, which "
        f"{code(culprit)} has integrated out"
        for step, read, culprit in way.schedule.faults
    ]
    return [
        Heading(3, "Why the order is not valid"),
        Paragraph(
            "This order is not valid: a step reads a value that belongs to an old state of what "
            "was drawn since, so that the two together have not their posterior distribution. The "
            "chain samples from another one; `pgbn.testing.geweke` shows how far it is."
        ),
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
    words += f", until step {drawn} draws it" + (" if somebody looks" if demand else "") + ". "
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
