"""New rows of a plate: the posterior of what belongs to them, given all the rest."""
