"""What training runs share: logs, worker processes, files that a kill never hurts, settings."""
