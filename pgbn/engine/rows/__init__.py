"""New rows of a plate: the posterior of their own nodes, given all the rest."""
