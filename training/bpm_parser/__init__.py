"""Train dependency parsers: Bayes point machines of averaged perceptrons (Corston-Oliver et al. 2006)."""
