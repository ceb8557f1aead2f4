"""Random variates: scalar kernels, one module each, and vectorised draws built on them.

A scalar kernel, such as `pgbn.samplers.variates.crt.draw_crt`, takes a stream of
`pgbn.samplers.random` first and is called from other kernels. The functions of
`pgbn.samplers.vectorised` draw arrays.
"""

from pgbn.samplers import vectorised
from pgbn.samplers.executor import Executor, Threads
from pgbn.samplers.random import Stream
from pgbn.samplers.thinning import share_out

__all__ = ["Executor", "Stream", "Threads", "share_out", "vectorised"]
