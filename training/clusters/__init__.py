"""Word clusters from raw text: words that stand beside the same words share a cluster."""
