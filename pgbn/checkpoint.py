"""Training that survives a stop: the public name of `pgbn.training.checkpoints`."""

from pgbn.training.checkpoints import Checkpoint, read_checkpoint, resume, train

__all__ = ["Checkpoint", "read_checkpoint", "resume", "train"]
