"""Part-of-speech tags for the parser: jackknifed training tags, and the final tagger + senter.

``python -m training jackknife`` tags every training tree with a tagger that has not seen it;
``python -m training tag`` fits the final spaCy pipeline: tok2vec, tagger, attribute_ruler, senter.
"""
