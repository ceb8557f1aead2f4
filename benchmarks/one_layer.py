"""One layer of other programs: samples of (Φ, θ) from scikit-learn, tomotopy and topica.

All have α = 50 / K and η = 0.05, and the sampling ones as many sweeps as one layer of ours, then 20
samples. tomotopy gives each of them, topica their average only, and scikit-learn, which is
variational, one point. Documents and terms that a program leaves out have equal shares.
"""

import numpy as np
import scipy.sparse as sp

PROGRAMS = ("scikit-learn", "tomotopy", "topica")
THIN = 10


def _sklearn(seen, topics, _):
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(topics, topic_word_prior=0.05, doc_topic_prior=50 / topics,
                                      max_iter=30, random_state=0)  # fmt: skip
    theta = model.fit_transform(sp.csr_matrix(seen))
    return [(model.components_ / model.components_.sum(axis=1, keepdims=True), theta)]


def _tokens(seen):
    """The documents that are not empty as lists of words, and their places."""
    rows = np.flatnonzero(np.diff(seen.indptr))
    texts = []
    for j in rows:
        at = slice(seen.indptr[j], seen.indptr[j + 1])
        texts.append([str(w) for w in np.repeat(seen.indices[at], seen.data[at])])
    return rows, texts


def _filled(shape, topics, known, phi, rows, theta):
    """Φ and θ over all terms and documents, of those that a program knows."""
    every = np.full((topics, shape[1]), 1e-12)
    every[:, known] = phi
    of = np.full((shape[0], topics), 1.0 / topics)
    of[rows] = theta
    return every / every.sum(axis=1, keepdims=True), of


def _tomotopy(seen, topics, sweeps):
    import tomotopy

    rows, texts = _tokens(seen)
    model = tomotopy.LDAModel(k=topics, alpha=50.0 / topics, eta=0.05, seed=1)
    for text in texts:
        model.add_doc(text)
    model.train(sweeps, workers=1)
    samples = []
    for _ in range(20):
        model.train(THIN, workers=1)
        known = np.array([int(word) for word in model.used_vocabs])
        phi = np.array([model.get_topic_word_dist(k) for k in range(topics)])
        theta = np.array([document.get_topic_dist() for document in model.docs])
        samples.append(_filled(seen.shape, topics, known, phi, rows, theta))
    return samples


def _topica(seen, topics, sweeps):
    import topica

    rows, texts = _tokens(seen)
    model = topica.LDA(topics, alpha_sum=50.0, beta=0.05, optimize_interval=0, seed=1,
                       use_symmetric_alpha=True)  # fmt: skip
    model.fit(texts, iters=sweeps, num_samples=20, sample_interval=THIN, keep_theta_draws=False)
    known = np.array([int(word) for word in model.vocabulary])
    return [_filled(seen.shape, topics, known, np.asarray(model.topic_word), rows,
                    np.asarray(model.doc_topic))]  # fmt: skip


def run(name, seen, topics, sweeps):
    """Samples of (Φ, θ) of a program, trained on ``seen``."""
    programs = {"scikit-learn": _sklearn, "tomotopy": _tomotopy, "topica": _topica}
    return programs[name](seen, topics, sweeps)
