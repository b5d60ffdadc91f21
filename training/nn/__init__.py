"""Shared code of the trainers of recurrent networks: forward and backward passes of layers, and the optimiser."""
