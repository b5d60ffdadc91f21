"""A page on which one types a sentence and looks at its tree."""
