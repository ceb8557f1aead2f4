"""People who come from elsewhere are told what the number of topics is called."""

import copy
import inspect
import pickle

import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone

from pgbn import PFA, PGBN
from pgbn.checks import OTHER_NAMES


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_the_error_names_max_width(name):
    with pytest.raises(TypeError, match=rf"'{name}': .*max_width=20; or max_width=\(100, 30, 10\)"):
        PGBN(**{name: 20})
    with pytest.raises(TypeError, match=r"PFA\(\) has no argument.* as width=20$"):
        PFA(**{name: 20})


def test_other_unknown_arguments_are_pythons_own_matter():
    with pytest.raises(TypeError, match="unexpected keyword argument 'topics'"):
        PGBN(topics=20)


def test_estimators_are_made_copied_and_shown_as_before():
    model = PGBN((8, 4), eta=0.1)
    for again in (clone(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert again.get_params() == model.get_params()
    shown = inspect.signature(PGBN).parameters
    assert list(shown)[:2] == ["max_width", "depth"]
    assert shown["max_width"].default == (80, 20, 6)
    assert next(iter(inspect.signature(PFA).parameters)) == "width"
