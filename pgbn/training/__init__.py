"""Train a network layer by layer, with checkpoints, and infer new rows with a trained one."""

from pgbn.training import training_files as training_files
from pgbn.training.checkpoints import resume
from pgbn.training.layerwise import train_layerwise
from pgbn.training.trained import Priors, TrainedNetwork
from pgbn.training.training_result import LayerwiseTraining

__all__ = ["LayerwiseTraining", "Priors", "TrainedNetwork", "resume", "train_layerwise"]
