"""Shared parts of training runs: logs, worker processes, atomic file writes, checkpoints, settings."""
