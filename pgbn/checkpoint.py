"""Training that survives a stop: the public name of `pgbn.training.checkpoints`."""

from pgbn.training.checkpoints.read import Checkpoint, read_checkpoint
from pgbn.training.checkpoints.write import Checkpoints, resume, train

__all__ = ["Checkpoint", "Checkpoints", "read_checkpoint", "resume", "train"]
