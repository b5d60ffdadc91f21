"""Training of the span parser's networks: trees as spans, gradients, the optimiser, runs that can be resumed."""
