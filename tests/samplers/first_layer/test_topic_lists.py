"""What a target picks at the ends of lists and weights, where rounding may lead."""

import numpy as np
import pytest
from numba import njit

from pgbn.samplers.first_layer.loadings import (
    TopicLists,
    padded,
    pick_in_list,
    pick_weight,
    sum_list,
    sum_weights,
    weights_in,
    weights_room,
)
from pgbn.samplers.lanes import pointer


@njit
def _list(topic, value, begin, length, room, targets, places):
    lists, weights = TopicLists(pointer(topic), pointer(value)), weights_in(room)
    total = sum_list(lists, np.uint64(begin), np.uint64(length), weights)
    for i in range(targets.size):
        places[i] = pick_in_list(lists, np.uint64(begin), np.uint64(length), weights, targets[i])
    return total


@njit
def _weights(room, target):
    weights = weights_in(room)
    return sum_weights(weights), pick_weight(weights, target)


def room_of(weight):
    """The weights, in the room that the kernels need."""
    room = weights_room(len(weight))
    room[: len(weight)] = weight
    return room


def test_a_place_of_value_0_is_never_picked():
    """Nor by a target at the end of the list, where rounding may lead."""
    topic = np.arange(8, dtype=np.uint16)
    value = np.array([2, 0, 1, 0, 0, 0, 0, 0], np.int32)
    places = np.empty(2, np.uint64)
    _list(topic, value, 0, 3, room_of(np.ones(8)), np.array([2.0, 3.0]), places)
    np.testing.assert_array_equal(places, [2, 2])


@pytest.mark.parametrize("topics", [1, 8, 21])
def test_a_weight_is_picked(topics):
    weight = np.random.default_rng(topics).random(topics) + 0.1
    ends = np.cumsum(weight)
    for k in range(topics):
        total, picked = _weights(room_of(weight), ends[k] - weight[k] / 2)
        assert total == pytest.approx(ends[-1])
        assert picked == k
    assert _weights(room_of(weight), 2.0 * ends[-1])[1] == topics - 1  # as by rounding
    assert _weights(room_of(np.zeros(topics)), 0.0)[1] == padded(topics)
