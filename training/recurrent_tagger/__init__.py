"""Part-of-speech tags for the parser: jackknifed training tags, and the final tagger and senter."""
