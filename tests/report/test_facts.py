"""The settings of a run repeat it."""

import numpy as np

from pgbn.report import report_data
from tests.helpers.report_models import trained


def test_the_settings_repeat_the_run() -> None:
    arguments = {"max_width": "9", "depth": 2, "burn_in": "[4, 3]", "collect": 2, "seed": 5,
                 "link": "poisson", "min_width": 1, "note": "not an argument"}  # fmt: skip
    code = report_data(trained(), settings=arguments).repeat
    assert "note" not in code
    X = np.random.default_rng(0).poisson(0.4, size=(30, 20))
    first, second = {"X": X}, {"X": X}
    exec(code, first)
    exec(code, second)
    assert first["model"].deepest.sweeps == 4 + 2 + 3 + 2
    for a, b in zip(first["model"].deepest.phi, second["model"].deepest.phi, strict=True):
        np.testing.assert_array_equal(a, b)
    assert report_data(trained()).repeat == ""
    assert report_data(trained(), settings=arguments, repeat="mine").repeat == "mine"


def test_what_was_done_after_training_is_said() -> None:
    arguments = {"max_width": [9, 4], "depth": 2, "seed": 5}
    stopped = "depth 2 reached; twins were merged, 9-4 to 9-3"
    code = report_data(trained(), settings={**arguments, "training stopped": stopped}).repeat
    assert code.endswith("# then twins were merged, as pgbn fit\n# and pgbn.PGBN do by themselves")
    assert "twins" not in report_data(trained(), settings=arguments).repeat
