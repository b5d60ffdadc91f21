"""spaCy components, attributes of Docs and Spans, scorer and corpus reader. Each is imported where it is needed."""
