"""benchmarks/ewt_spans.py: spans with labels from dependencies, in Docs with the text of the treebank."""

from __future__ import annotations

import spacy

from tests.bench_modules import bench_module

SENTENCES = """\
# newdoc id = one
1\t"\t_\tPUNCT\t_\t_\t3\tpunct\t_\tSpaceAfter=No
2\tAnn\t_\tPROPN\t_\t_\t3\tnsubj\t_\t_
3\tsaid\t_\tVERB\t_\t_\t0\troot\t_\t_
4-5\tshe'll\t_\t_\t_\t_\t_\t_\t_\t_
4\tshe\t_\tPRON\t_\t_\t6\tnsubj\t_\t_
5\t'll\t_\tAUX\t_\t_\t6\taux\t_\t_
6\tpay\t_\tVERB\t_\t_\t3\tccomp\t_\t_
7\tMr.\t_\tPROPN\t_\t_\t6\tobj\t_\t_
8\tLee\t_\tPROPN\t_\t_\t7\tflat\t_\t_
8.1\tgone\t_\tVERB\t_\t_\t_\t_\t_\t_
9\t(\t_\tPUNCT\t_\t_\t10\tpunct\t_\tSpaceAfter=No
10\tlater\t_\tADV\t_\t_\t8\tadvmod\t_\tSpaceAfter=No
11\t)\t_\tPUNCT\t_\t_\t10\tpunct\t_\tSpaceAfter=No
12\t.\t_\tPUNCT\t_\t_\t6\tpunct\t_\tSpaceAfter=No
13\t"\t_\tPUNCT\t_\t_\t3\tpunct\t_\t_

1\tHe\t_\tPRON\t_\t_\t2\tnsubj\t_\t_
2\tsold\t_\tVERB\t_\t_\t0\troot\t_\t_
3\thats\t_\tNOUN\t_\t_\t2\tobj\t_\t_
4\ttoday\t_\tNOUN\t_\t_\t2\tobl:unmarked\t_\t_
5\tthat\t_\tPRON\t_\t_\t6\tobj\t_\t_
6\tfit\t_\tVERB\t_\t_\t3\tacl:relcl\t_\tSpaceAfter=No

# newdoc id = two
1\tHi\t_\tINTJ\t_\t_\t0\troot\t_\t_
"""


def test_spans_of_subtrees(tmp_path):
    (tmp_path / "own.conllu").write_text(SENTENCES, encoding="utf8")
    with bench_module("ewt_spans") as module:
        docs, gaps = module.read_docs(tmp_path / "own.conllu", spacy.blank("en").vocab)
        each, _ = module.read_docs(tmp_path / "own.conllu", spacy.blank("en").vocab, sentences=1)
    assert [doc.text for doc in docs] == ['"Ann said she\'ll pay Mr. Lee (later)." He sold hats today that fit', "Hi "]
    assert [len(list(doc.sents)) for doc in docs] == [2, 1] and len(each) == 3
    assert [(span.text, span.label_) for span in docs[0].spans["sc"]] == [
        ("Ann", "subject"),
        ("Ann", "name"),
        ("she", "subject"),
        ("she'll pay Mr. Lee (later)", "complement"),
        ("Mr. Lee (later)", "object"),
        ("Mr. Lee", "name"),
        ("He", "subject"),
        ("today", "oblique"),
        ("that", "object"),
        ("that fit", "relative"),
    ]
    assert gaps == {"object": 1}, "hats … that fit"
