"""The trainer of boosted decision trees (Turian & Melamed 2006)."""
