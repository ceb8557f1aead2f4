"""Training that survives a stop: the writer of checkpoints, and the reader beside it."""
