"""Learning from some documents at a time: stochastic-gradient MCMC."""
