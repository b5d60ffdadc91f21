"""Train log-linear taggers: averaged perceptron, MIRA, GIS and L-BFGS (Kummerfeld et al. 2010)."""
