"""Shared parts of training runs: logs, progress, worker processes, atomic file writes, checkpoints, results."""
