"""Training of the span parser's networks: trees as spans, gradients, the optimiser, resumable runs."""
