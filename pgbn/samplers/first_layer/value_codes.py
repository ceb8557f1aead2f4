"""The values of a word as bytes: bounds that are at most a sixteenth too large.

    value_wk < u(c_wk) 2^e_w,   and u(c - 1) 2^e_w <= value_wk where c > 0

A byte c = 16 q + j stands for the first binary digits of value / 2^e_w, (1 + j / 16) 2^q; u(c) is
the next larger such number. Values 2^16 times smaller than a word's largest one have c = 0. The
bytes of a word fill a few lines of the cache, where the values fill eight times as many. A topic
that is proposed by u in place of the values is accepted with probability value / (u 2^e): rejection
sampling, exact for any codes, and nearly always without a look at the value.
"""

from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import number_of
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.first_layer.tokens import RowPriors
from pgbn.samplers.from_numba import intrinsic, ir, types
from pgbn.samplers.simd.lanes import (
    LANES,
    add_product,
    lanes_of,
    last,
    load_lanes,
    pointer,
    running_sum,
    zeros,
)

__all__ = [
    "GROUP",
    "Codes",
    "blank_codes",
    "bounds_of",
    "bounds_table",
    "encode_word",
    "prior_sums",
]

GROUP = 32  # topics whose prior weights are summed together
_0, _1, _16, _32 = np.uint64(0), np.uint64(1), np.uint64(LANES), np.uint64(GROUP)
_48, _52 = np.uint64(48), np.uint64(52)
_LEAST, _MOST = np.int16(0), np.int16(255)
_ONE, _STEP = (
    0x3F800000,
    19,
)  # the bits of the single 1, and where its digits after the fourth begin


class Codes(NamedTuple):
    """``byte[w, k]`` is c_wk for word w = replicate · V + v, ``unit[w]`` is 2^e_w. Lines of bytes
    are filled up to a multiple of sixteen, with 0."""

    byte: np.ndarray
    unit: np.ndarray


def blank_codes(words: int, topics: int) -> Codes:
    """Room for the codes of so many words."""
    return Codes(np.zeros((words, -(-topics // LANES) * LANES), np.uint8), np.ones(words))


@njit(cache=True, nogil=True, forceinline=True)
def encode_word(bits, slot, codes, first_bits):
    """The codes of a word, from the ``bits`` of the values of all words; ``first_bits`` is scratch
    for as many numbers of 16 bits as there are topics."""
    topics, size = np.uint64(first_bits.size), np.uint64(codes.byte.shape[1])
    begin, at = np.uint64(slot) * topics, np.uint64(slot) * size
    numbers, first, byte = pointer(bits), pointer(first_bits), pointer(codes.byte)
    for k in range(topics):  # of a double: sign, exponent, four digits
        first[k] = np.int16(numbers[begin + k] >> _48)
    most = np.int16(0)
    for k in range(topics):
        most = max(most, first[k])
    exponent = max((np.int32(most) >> 4) - 15, 1)  # numbers with exponent 0 have another form
    least = np.int16(exponent << 4)
    for k in range(topics):
        byte[at + k] = np.uint8(min(max(np.int16(first[k] - least), _LEAST), _MOST))
    codes.unit[slot] = number_of(np.uint64(exponent) << _52)


@njit(cache=True, nogil=True)
def bounds_table():
    """u(c) at place c + 1, and 0 at place 0: the number at c is not above the value / 2^e."""
    table = np.empty(257)
    table[0] = 0.0
    for c in range(1, 257):
        table[c] = number_of(np.uint32(_ONE + (c << _STEP)))
    return table


@intrinsic
def bounds_of(typing_context, byte, index):
    """u(byte[index]), … u(byte[index + 15]), as singles."""

    def code(context, builder, signature, arguments):
        numbers, bytes_ = ir.VectorType(ir.IntType(32), LANES), ir.VectorType(ir.IntType(8), LANES)
        place = builder.bitcast(builder.gep(arguments[0], [arguments[1]]), bytes_.as_pointer())
        steps = builder.zext(builder.load(place, align=1), numbers)
        shifted = builder.shl(steps, ir.Constant(numbers, [_STEP] * LANES))
        first = ir.Constant(numbers, [_ONE + (1 << _STEP)] * LANES)
        return builder.bitcast(builder.add(shifted, first), ir.VectorType(ir.FloatType(), LANES))

    return lanes_of(types.float32)(byte, types.uint64), code


def prior_sums(
    loadings, priors: RowPriors, documents: int, executor: Executor = SERIAL
) -> np.ndarray:
    """Σ_k u(c_wk) a_k scale_k of each word of coded `Loadings`, where all rows share the prior:
    running sums over groups of 32 topics, the last one over all."""
    words, bytes_ = loadings.byte.shape
    out = np.empty((words, -(-bytes_ // GROUP)), np.float32)
    given = (loadings.byte, loadings.scale, priors, documents, out)
    executor.rows(_sum_priors, words, 0, *given)
    return out


@njit(cache=True, nogil=True)
def _sum_priors(key, start, stop, byte, scale, priors, documents, out):
    """`prior_sums` of words start..stop."""
    replicates, topics = scale.shape
    vocabulary, size = byte.shape[0] // replicates, np.uint64(byte.shape[1])
    smooth, before = np.zeros(byte.shape[1], np.float32), -1
    here, weights = pointer(byte), pointer(smooth)
    for slot in range(start, stop):
        replicate = slot // vocabulary
        if replicate != before:
            shape = priors.shape[replicate * documents // priors.share]
            for k in range(topics):
                smooth[k] = shape[k] * scale[replicate, k]
            before = replicate
        begin, total, k = np.uint64(slot) * size, np.float32(0.0), _0
        for group in range(out.shape[1]):
            lanes = zeros(smooth)
            end = min(k + _32, size)
            while k < end:
                lanes = add_product(lanes, bounds_of(here, begin + k), load_lanes(weights, k))
                k += _16
            total += last(running_sum(lanes))
            out[slot, group] = total
    smooth[0] = 0.0  # used after its pointer, which does not keep it
