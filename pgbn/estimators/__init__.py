"""How scikit-learn sees it: the estimators. Needs the extra ``pgbn[sklearn]``."""

from pgbn.estimators import estimator_files as estimator_files
from pgbn.estimators.network import NetworkTransformer
from pgbn.estimators.pgbn import PFA, PGBN

__all__ = ["PFA", "PGBN", "NetworkTransformer"]
