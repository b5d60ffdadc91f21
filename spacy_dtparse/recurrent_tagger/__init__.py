"""Parts of speech and sentence starts by a recurrent network: the tagger of the default pipeline."""
