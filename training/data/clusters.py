"""Files of word clusters: one cluster per line, words separated by blanks, the most frequent first."""

from collections import Counter
from pathlib import Path

from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.model_io.schema import CLUSTER, MAX_CLUSTERS
from spacy_dtparse.nn.clusters import WordClusters

STARTED_WITH_CLUSTERS = (
    "--clusters are for new networks; --start continues trained ones, with the clusters that they have, or without"
)
"""The message of an error."""
LOOKUPS = "spacy-lookups-data"
"""Name of the package with spaCy's lookup tables, in the list of texts of clusters; see `treebanks.text_list_path`."""


def read_clusters(path: Path) -> list[str]:
    """The clusters in a file, each as its words separated by blanks. Raises TrainingDataError if the file cannot be
    read, has no words, or contains a word twice."""
    try:
        lines = path.read_text(encoding="utf8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TrainingDataError(
            f"{path}: cannot read the clusters ({error}); give a file that `python -m training clusters` wrote"
        ) from error
    counts = Counter(word for line in lines for word in line.split())
    word, max_count = counts.most_common(1)[0] if counts else ("", 0)
    if max_count != 1:
        problem = f"has the word {word!r} twice" if counts else "has no words"
        raise TrainingDataError(f"{path}: {problem}; give a file that `python -m training clusters` wrote")
    clusters = [line for line in lines if line.split()]
    longest = max(map(len, clusters))
    if longest > CLUSTER.maximum:
        raise TrainingDataError(
            f"{path}: a cluster has {longest:,} characters; a model can have {CLUSTER.maximum:,}: leave rare words out "
            "(--max-words or --min-count of `python -m training clusters`)"
        )
    if len(clusters) > MAX_CLUSTERS:
        raise TrainingDataError(f"{path} has {len(clusters):,} clusters; a model can have {MAX_CLUSTERS:,}: give fewer")
    return clusters


def load_clusters(path: Path | None) -> WordClusters | None:
    """The word clusters in a file, for a network; None for no file. Raises the errors of `read_clusters`."""
    return None if path is None else WordClusters(read_clusters(path))
