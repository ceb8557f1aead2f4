"""Tables of a Chinese restaurant with m customers and the concentration m: customer by customer,
and by `draw_crt`, in turn.

    python -m benchmarks.tables
"""

import argparse
import time

import numpy as np
from numba import njit

from benchmarks.networks import machine, save
from pgbn.samplers.random import restart, uniform
from pgbn.samplers.variates.crt import draw_crt


@njit
def one_by_one(rng, m, r):
    tables = 1
    for i in range(1, m):
        if uniform(rng) * (r + i) < r:
            tables += 1
    return tables


@njit
def by_slices(rng, m, r):
    return draw_crt(rng, m, r)


def seconds(draw, rng, customers, size):
    start = time.process_time()
    for _ in range(size):
        draw(rng, customers, float(customers))
    return (time.process_time() - start) / size


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json")
    options = parser.parse_args()
    rng = np.empty(2, np.uint64)
    restart(rng, np.uint64(0), 0)
    print(machine())
    found = {}
    for customers in (10**3, 10**4, 10**5, 10**6, 10**7, 10**8):
        size = max(1, 10**7 // customers)
        sides = {"one by one": one_by_one, "draw_crt": by_slices}
        for draw in sides.values():
            draw(rng, 2, 2.0)  # compiled
        least = dict.fromkeys(sides, np.inf)
        for _ in range(options.repeats):
            for name, draw in sides.items():
                least[name] = min(least[name], seconds(draw, rng, customers, size))
        slow, fast = least.values()
        found[customers] = least
        print(f"{customers:>11,}: {1e6 * slow:10.1f} and {1e6 * fast:8.1f} µs, {slow / fast:.1f}")
    save(options.json, found)


if __name__ == "__main__":
    main()
