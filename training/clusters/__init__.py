"""Word clusters from raw text: words with similar neighbours share a cluster."""
