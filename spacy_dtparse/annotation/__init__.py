"""Annotation of treebanks: edits of trees as constraints, sessions with a journal, the page of `dtparse annotate`."""
