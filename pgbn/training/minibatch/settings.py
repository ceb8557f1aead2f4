"""The settings of a training on minibatches, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pgbn.checks import check_integer, is_finite_number
from pgbn.errors import DataError
from pgbn.training.minibatch.learner import Pace
from pgbn.training.per_layer import budgets
from pgbn.training.settings import Settings
from pgbn.training.trained import Priors

__all__ = ["MinibatchSettings"]


@dataclass(frozen=True)
class MinibatchSettings:
    """``model`` has the widths, eta, link, priors and the seed."""

    model: Settings
    batch_size: int
    steps: int
    collect: int
    keep_draws: int
    pace: Pace

    @classmethod
    def of(
        cls,
        widths: int | Sequence[int],
        *,
        eta: float | Sequence[float] | None,
        link: str,
        priors: Priors | None,
        seed: int,
        batch_size: int,
        steps: int,
        collect: int | None,
        keep_draws: int,
        first_step: float,
        delay: float,
        decay: float,
        local_burn_in: int,
        local_samples: int,
    ) -> MinibatchSettings:
        """From the arguments of `train_minibatch`."""
        found = budgets("widths", widths, 1)
        layers = (found,) if isinstance(found, int) else found
        model = Settings.of(layers, len(layers), eta=eta, link=link, seed=seed, priors=priors,
                            min_width=1)  # fmt: skip
        check_integer("batch_size", batch_size, 1)
        check_integer("steps", steps, 1)
        collect = (steps + 1) // 2 if collect is None else collect
        if check_integer("collect", collect, 1) > steps:
            raise DataError(f"collect={collect!r} must be at most steps={steps!r}")
        if check_integer("keep_draws", keep_draws, 0) > collect:
            raise DataError(f"keep_draws={keep_draws!r} must be at most collect={collect!r}")
        if not is_finite_number(first_step) or not 0 < first_step <= 1:
            raise DataError(f"first_step={first_step!r}: give a number above 0, at most 1")
        if not is_finite_number(delay) or not delay > 0:
            raise DataError(f"delay={delay!r}: give a number of steps above 0, such as 10")
        if not is_finite_number(decay) or not 0.5 < decay <= 1:
            raise DataError(
                f"decay={decay!r}: give a number above 0.5 and at most 1; steps that shrink more "
                "slowly or faster do not converge"
            )
        pace = Pace(float(first_step), float(delay), float(decay),
                    check_integer("local_burn_in", local_burn_in, 0),
                    check_integer("local_samples", local_samples, 1))  # fmt: skip
        return cls(model, int(batch_size), int(steps), int(collect), int(keep_draws), pace)

    @property
    def widths(self) -> tuple[int, ...]:
        widths = self.model.max_width
        assert isinstance(widths, tuple)
        return widths

    def content(self) -> dict[str, Any]:
        """As JSON, to be compared."""
        own = {name: getattr(self, name) for name in
               ("batch_size", "steps", "collect", "keep_draws")}  # fmt: skip
        return {"model": self.model.content(), "pace": asdict(self.pace), **own}
