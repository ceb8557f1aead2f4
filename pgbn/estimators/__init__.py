"""How scikit-learn sees it: the estimators. Needs the extra ``pgbn[sklearn]``."""

from pgbn.estimators import codec as codec
from pgbn.estimators.network import NetworkTransformer
from pgbn.estimators.pgbn import PFA, PGBN

__all__ = ["PFA", "PGBN", "NetworkTransformer"]
