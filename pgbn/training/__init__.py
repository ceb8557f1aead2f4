"""Train a network layer by layer, with checkpoints, and infer new rows with a trained one."""

from pgbn.training import training_files as training_files
from pgbn.training.checkpoints import Checkpoint
from pgbn.training.growing import Progress
from pgbn.training.layerwise import train_layerwise
from pgbn.training.merging import merge_topics
from pgbn.training.new_rows import infer
from pgbn.training.surgery import grow, prune
from pgbn.training.trained import Priors, TrainedNetwork
from pgbn.training.training_result import LayerwiseTraining

__all__ = [
    "Checkpoint",
    "LayerwiseTraining",
    "Priors",
    "Progress",
    "TrainedNetwork",
    "grow",
    "infer",
    "merge_topics",
    "prune",
    "train_layerwise",
]
