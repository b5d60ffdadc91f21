"""Word clusters from the lookup tables of spaCy."""

from pathlib import Path

from spacy.util import load_language_data, registry

from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.text import normal_word

from ..data.clusters import LOOKUPS
from ..data.treebanks import text_list_path
from ..runs.files import write_atomically

_CLUSTERS, _FREQUENCIES = "lexeme_cluster", "lexeme_prob"
"""Names of the tables: from word to the number of its cluster, 0 for none; from word to its log probability."""


def clusters_of_lookups(lang: str, max_words: int, out: Path) -> None:
    """Write the Brown clusters (Brown et al. 1992) in spaCy's lookup tables for a language to `out`, in the form of
    `learn_clusters`: of the `max_words` most frequent words, normalised. The most frequent one of several forms of a
    word, such as those in upper and lower case, decides.

    Raises TrainingDataError if spacy-lookups-data is not installed or has no clusters of the language.
    """
    files = registry.lookups.get(lang) if lang in registry.lookups else {}
    if not {_CLUSTERS, _FREQUENCIES} <= set(files):
        known = [name for name in sorted(registry.lookups.get_all()) if _CLUSTERS in registry.lookups.get(name)]
        raise TrainingDataError(
            f"there are no word clusters for --lang {lang}: "
            + (f"{LOOKUPS} has those of {', '.join(known)}" if known else f"install them with pip install {LOOKUPS}")
            + "; or learn clusters from raw text with --text FILE"
        )
    clusters, frequencies = (dict(load_language_data(files[name])) for name in (_CLUSTERS, _FREQUENCIES))
    cluster_of: dict[str, int] = {}
    for word in sorted(clusters, key=lambda word: -frequencies.get(word, float("-inf"))):
        if clusters[word] and word.split() == [word]:
            cluster_of.setdefault(normal_word(word), clusters[word])
            if len(cluster_of) == max_words:
                break
    lines: dict[int, list[str]] = {}
    for word, cluster in cluster_of.items():
        lines.setdefault(cluster, []).append(word)
    write_atomically(out, "".join(" ".join(line) + "\n" for line in lines.values()).encode())
    write_atomically(text_list_path(out), f"{LOOKUPS}\n".encode())
