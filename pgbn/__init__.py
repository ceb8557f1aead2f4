"""pgbn: deep Bayesian models of counts, declared as networks of distribution nodes.

A public name is imported when it is first used, so that ``pgbn --help`` need not wait for the
compiler. `__init__.pyi` has the same names for type checkers and editors.
"""

from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from threading import RLock
from typing import Any

from pgbn.storage.archive import codec_in
from pgbn.versions import __version__ as __version__

# Where each public name is defined.
_NAMES_OF = {
    "pgbn": "datasets diagnostics evaluation explain extend plot testing zoo",
    "pgbn.engine.rows.new_rows": "NewRows",
    "pgbn.engine.run.chain": "Chain",
    "pgbn.engine.run.draws": "Draws",
    "pgbn.engine.run.progress": "Event",
    "pgbn.errors": (
        "DataError MissingRuleError NetworkError PgbnError PgbnWarning StaleReadError StorageError"
    ),
    "pgbn.estimators": "PFA PGBN NetworkTransformer",
    "pgbn.evaluation": "HeldOut",
    "pgbn.network.network": "Network",
    "pgbn.nodes": (
        "Bernoulli BernoulliPoisson Beta BetaOdds Categorical Categories Constant Dirichlet "
        "Gamma HiddenPoisson LogitBernoulli LogNormal Multinomial Normal ObservedNormal "
        "Pairs Poisson PoissonGamma RandomisedGamma Rename Self Shift distinct same"
    ),
    "pgbn.nodes.rules": "rules",
    "pgbn.samplers.disk": "Disk",
    "pgbn.samplers.executor": "Threads",
    "pgbn.samplers.on_ray": "Ray",
    "pgbn.storage": "load save",
    "pgbn.storage.corpus": "Corpus",
    "pgbn.training.checkpoints": "resume",
    "pgbn.training.layerwise": "train_layerwise",
    "pgbn.training.minibatch.train": "MinibatchEvent train_minibatch",
    "pgbn.training.trained": "Priors TrainedNetwork",
    "pgbn.training.training_result": "LayerwiseTraining",
    "pgbn.versions": "show_versions",
}
_HOMES = {name: home for home, names in _NAMES_OF.items() for name in names.split()}

# The estimators need an extra: `from pgbn import *` works without it.
__all__ = sorted(name for name, home in _HOMES.items() if home != "pgbn.estimators")

# Which subpackage reads each kind of folder.
for _kind, _home in {
    "corpus": "pgbn.storage.corpus",
    "network": "pgbn.network",
    "chain": "pgbn.engine",
    "draws": "pgbn.engine",
    "run": "pgbn.engine",
    "trained": "pgbn.training",
    "training": "pgbn.training",
    "grown": "pgbn.training",
    "checkpoint": "pgbn.training",
    "minibatch": "pgbn.training.minibatch.train",
    "estimator": "pgbn.estimators",
    "transformer": "pgbn.estimators",
}.items():
    codec_in(_kind, _home)

# What to write instead of names that are gone, and of names that newcomers guess.
_INSTEAD = {
    name: present.replace("*", name)
    for present, names in {
        "pgbn.extend.*": (
            "Draw Edge Evidence Executor FirstLayer Index Latent Link Mix Node Observed Product "
            "Slot SlotCounts Stream Sum WorkerPool check_positive check_probability "
            "counts_are_data draw_rule evidence_rule kernel_rule link_rule register_codec "
            "register_kernel register_link register_sampler share_out vectorised"
        ),
        "pgbn.Corpus": "corpus",
        "pgbn.Corpus.read": "read_corpus",
        "pgbn.Corpus.from_texts": "count_terms",
        "pgbn.datasets.load_docstrings": "docstrings",
        "pgbn.evaluation.*": "split_tokens",
        "pgbn.testing.*": "check_conjugacy check_edge geweke mutants sbc",
        "pgbn.diagnostics.split_rhat": "rhat split_rhat",
        "pgbn.diagnostics.bulk_ess": "bulk_ess ess",
        "pgbn.zoo.lda, or pgbn.PFA": "LDA LatentDirichletAllocation LdaModel",
        "pgbn.PFA, or pgbn.zoo.hpf": "NMF HPF",
        "pgbn.zoo.hdp_lda": "HDP HdpModel",
        "pgbn.PGBN().fit(X)": "fit fit_transform TopicModel",
        "pgbn.train_layerwise": "train fit_layerwise",
        "model.perplexity(X)": "completion_perplexity perplexity",
        "model.infer(X)": "infer",
        "model.transform(X, path)": "transform_to",
        "model.merge(groups)": "merge_topics",
        "net.*, of a pgbn.Network": "grow prune",
        "pgbn.train_layerwise(X, …, save=path)": "checkpoint",
        "model.generate(n)": "generate_documents generate",
        "net.sample(data), of a pgbn.Network": "MCMC gibbs mcmc sample",
        "model.transform(X), of a fitted pgbn.PGBN": "predict transform",
        "pgbn.Network": "Model",
        "pgbn.Gamma(name, 1, rate)": "Exponential",
        "pgbn.Beta(name, 1, 1), which is uniform from 0 to 1": "Uniform",
        "pgbn.LogNormal": "Lognormal LogNormalDistribution",
        "pgbn.Bernoulli, or data of counts with pgbn.Multinomial": "Binomial",
        "pgbn.Poisson of a rate that is a pgbn.Gamma": "NegativeBinomial",
        "pgbn.PgbnError": "Error",
    }.items()
    for name in names.split()
}

_LOCK = RLock()


def __getattr__(name: str) -> Any:
    """Import a public name, or a subpackage, when it is first used."""
    may_be_module = name.isidentifier() and not name.startswith("_")
    if name not in _HOMES and (not may_be_module or find_spec(f"pgbn.{name}") is None):
        raise AttributeError(f"module 'pgbn' has no attribute {name!r}{_hint(name)}")
    home = _HOMES.get(name, "pgbn")
    try:
        with _LOCK:  # two threads could otherwise see modules that are half imported
            found = import_module(f"pgbn.{name}" if home == "pgbn" else home)
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("sklearn"):
            raise
        raise ImportError(f"pgbn.{name} needs scikit-learn: pip install 'pgbn[sklearn]'") from error
    globals()[name] = found if home == "pgbn" else getattr(found, name)
    return globals()[name]


def _hint(name: str) -> str:
    """The present name, for one that is gone or guessed, or a name that looks like it."""
    if name.startswith("_"):
        return ""
    if name in _INSTEAD:
        return f"; write {_INSTEAD[name].format(name)}"
    same = {known.lower(): known for known in _HOMES}.get(name.lower())
    if same is not None:
        return f"; did you mean pgbn.{same}?"
    if find_spec(f"pgbn.zoo.{name.lower()}") is not None:
        return f"; write pgbn.zoo.{name.lower()}"
    near = get_close_matches(name, _HOMES, 1, 0.7)
    return f"; did you mean pgbn.{near[0]}?" if near else ""


def __dir__() -> list[str]:
    return sorted(_HOMES)
