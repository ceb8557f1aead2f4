"""Estimates against KL-NMF, and chains that start from estimates.

    python -m benchmarks.estimate --data ../shared/data/20newsgroups.npz

Both sides run in one process, one after the other, on one thread. First, the CPU time in which an
estimate with flat priors reaches the Poisson log likelihood at which scikit-learn's NMF ends, and
the time of NMF. Then, the log likelihood of chains after some sweeps, from draws of the prior and
from an estimate of their own.
"""

from __future__ import annotations

import argparse
import os
from time import process_time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import pgbn
from benchmarks.sweep import load

TOPICS, NMF_SWEEPS, SEED = 100, 200, 0


def fit_of(X, W, H):
    """Σ x ln λ − λ of λ = W H, without a dense λ."""
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    rates = np.concatenate([
        np.einsum("ck,ck->c", W[rows[c : c + 100_000]], H.T[X.indices[c : c + 100_000]])
        for c in range(0, X.nnz, 100_000)
    ])  # fmt: skip
    return float(X.data @ np.log(np.maximum(rates, 1e-300)) - W.sum(axis=0) @ H.sum(axis=1))


def against_nmf(X):
    """CPU seconds of NMF, and of an estimate that is at least as good."""
    from sklearn.decomposition import NMF

    rng = np.random.default_rng(SEED)
    scale = np.sqrt(X.mean() / TOPICS)
    W, H = (
        scale * rng.gamma(1, 1, shape) for shape in ((X.shape[0], TOPICS), (TOPICS, X.shape[1]))
    )
    nmf = NMF(TOPICS, init="custom", solver="mu", beta_loss="kullback-leibler",
              max_iter=NMF_SWEEPS, tol=0)  # fmt: skip
    begin = process_time()
    loadings = nmf.fit_transform(X.astype(float), W=W.copy(), H=H.copy())
    took = process_time() - begin
    goal = fit_of(X, loadings, nmf.components_)
    theta = pgbn.Gamma("theta", 1e-9, 1e-9, dims=("doc", "topic"))
    b = pgbn.Gamma("b", 1e-9, 1e-9, dims=("topic", "term"))
    net = pgbn.Network(pgbn.Poisson("x", theta @ b, dims=("doc", "term")), sizes={"topic": TOPICS})
    net.estimate({"x": X[:50]}, sweeps=2, threads=1)  # compiles
    begin, point, sweeps = process_time(), {"theta": W, "b": H}, 0
    while True:  # the time of starting anew every 25 sweeps is counted
        point = net.estimate({"x": X}, sweeps=25, tolerance=0.0, start=point, threads=1)
        sweeps += 25
        if fit_of(X, point["theta"][0, 0], point["b"][0, 0]) >= goal or sweeps >= 2000:
            break
    own = process_time() - begin
    reached = fit_of(X, point["theta"][0, 0], point["b"][0, 0])
    print(f"NMF: {NMF_SWEEPS} iterations, {took:.1f} CPU s, {goal:.0f}")
    print(f"estimate: {sweeps} sweeps, {own:.1f} CPU s, {reached:.0f}: ratio {took / own:.1f}")


def starts(X, marks=(1, 10, 40, 150, 400)):
    """Log likelihoods of chains by the number of sweeps, from two kinds of starts."""
    net = pgbn.zoo.pgbn([50])
    for start in (None, "estimate"):
        begin = process_time()
        chain = net.chain({"x": X}, seed=1, start=start, threads=1)
        before, values = process_time() - begin, []
        for mark in marks:
            chain.sweep(mark - chain.sweeps)
            values.append(f"{chain.log_likelihood() / 1e3:.1f}")
        after = process_time() - begin - before
        print(f"start={start}: {', '.join(values)} after {marks} sweeps; ", end="")
        print(f"{before:.1f} CPU s before, {after:.1f} of sweeps")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="an .npz file as in shared/data")
    parser.add_argument("--vocabulary", type=int, default=2000)
    arguments = parser.parse_args()
    X = load(arguments.data, arguments.vocabulary)
    against_nmf(X)
    starts(X[::4])


if __name__ == "__main__":
    main()
