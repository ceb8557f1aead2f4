"""The public names, for type checkers and editors; `pgbn/__init__.py` imports them when asked."""

from pgbn import datasets as datasets
from pgbn import diagnostics as diagnostics
from pgbn import evaluation as evaluation
from pgbn import explain as explain
from pgbn import extend as extend
from pgbn import plot as plot
from pgbn import testing as testing
from pgbn import zoo as zoo
from pgbn.engine.rows.new_rows import NewRows as NewRows
from pgbn.engine.run.chain import Chain as Chain
from pgbn.engine.run.draws import Draws as Draws
from pgbn.engine.run.progress import Event as Event
from pgbn.errors import DataError as DataError
from pgbn.errors import MissingRuleError as MissingRuleError
from pgbn.errors import NetworkError as NetworkError
from pgbn.errors import PgbnError as PgbnError
from pgbn.errors import PgbnWarning as PgbnWarning
from pgbn.errors import StaleReadError as StaleReadError
from pgbn.errors import StorageError as StorageError
from pgbn.estimators import PFA as PFA
from pgbn.estimators import PGBN as PGBN
from pgbn.estimators import NetworkTransformer as NetworkTransformer
from pgbn.evaluation import HeldOut as HeldOut
from pgbn.network.network import Network as Network
from pgbn.nodes import Bernoulli as Bernoulli
from pgbn.nodes import BernoulliPoisson as BernoulliPoisson
from pgbn.nodes import Beta as Beta
from pgbn.nodes import BetaOdds as BetaOdds
from pgbn.nodes import Categorical as Categorical
from pgbn.nodes import Categories as Categories
from pgbn.nodes import Constant as Constant
from pgbn.nodes import Dirichlet as Dirichlet
from pgbn.nodes import Gamma as Gamma
from pgbn.nodes import HiddenPoisson as HiddenPoisson
from pgbn.nodes import LogitBernoulli as LogitBernoulli
from pgbn.nodes import LogNormal as LogNormal
from pgbn.nodes import Multinomial as Multinomial
from pgbn.nodes import Normal as Normal
from pgbn.nodes import ObservedNormal as ObservedNormal
from pgbn.nodes import Pairs as Pairs
from pgbn.nodes import Poisson as Poisson
from pgbn.nodes import PoissonGamma as PoissonGamma
from pgbn.nodes import RandomisedGamma as RandomisedGamma
from pgbn.nodes import Rename as Rename
from pgbn.nodes import Self as Self
from pgbn.nodes import Shift as Shift
from pgbn.nodes import distinct as distinct
from pgbn.nodes import same as same
from pgbn.nodes.rules import rules as rules
from pgbn.samplers.disk import Disk as Disk
from pgbn.samplers.executor import Threads as Threads
from pgbn.samplers.on_ray import Ray as Ray
from pgbn.storage import load as load
from pgbn.storage import save as save
from pgbn.storage.corpus import Corpus as Corpus
from pgbn.training.checkpoints import resume as resume
from pgbn.training.layerwise import train_layerwise as train_layerwise
from pgbn.training.minibatch.train import MinibatchEvent as MinibatchEvent
from pgbn.training.minibatch.train import train_minibatch as train_minibatch
from pgbn.training.trained import Priors as Priors
from pgbn.training.trained import TrainedNetwork as TrainedNetwork
from pgbn.training.training_result import LayerwiseTraining as LayerwiseTraining
from pgbn.versions import __version__ as __version__
from pgbn.versions import show_versions as show_versions

__all__ = [
    "Bernoulli",
    "BernoulliPoisson",
    "Beta",
    "BetaOdds",
    "Categorical",
    "Categories",
    "Chain",
    "Constant",
    "Corpus",
    "DataError",
    "Dirichlet",
    "Disk",
    "Draws",
    "Event",
    "Gamma",
    "HeldOut",
    "HiddenPoisson",
    "LayerwiseTraining",
    "LogNormal",
    "LogitBernoulli",
    "MinibatchEvent",
    "MissingRuleError",
    "Multinomial",
    "Network",
    "NetworkError",
    "NewRows",
    "Normal",
    "ObservedNormal",
    "Pairs",
    "PgbnError",
    "PgbnWarning",
    "Poisson",
    "PoissonGamma",
    "Priors",
    "RandomisedGamma",
    "Ray",
    "Rename",
    "Self",
    "Shift",
    "StaleReadError",
    "StorageError",
    "Threads",
    "TrainedNetwork",
    "datasets",
    "diagnostics",
    "distinct",
    "evaluation",
    "explain",
    "extend",
    "load",
    "plot",
    "resume",
    "rules",
    "same",
    "save",
    "show_versions",
    "testing",
    "train_layerwise",
    "train_minibatch",
    "zoo",
]
