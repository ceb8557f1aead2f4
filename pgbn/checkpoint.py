"""Training that survives a stop: the public name of `pgbn.training.checkpoints`."""

from pgbn.training.checkpoints.format import Checkpoint
from pgbn.training.checkpoints.run import read_checkpoint, resume, train
from pgbn.training.checkpoints.write import Checkpoints

__all__ = ["Checkpoint", "Checkpoints", "read_checkpoint", "resume", "train"]
