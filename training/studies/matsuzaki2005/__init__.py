"""The experiments of Matsuzaki, Miyao & Tsujii (2005) on any treebanks: a plan of runs, their results, their tables."""
