"""Files of word clusters: one cluster per line, words separated by blanks, the most frequent first."""

from collections import Counter
from pathlib import Path

from spacy_dtparse.errors import TrainingDataError


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
    return [line for line in lines if line.split()]
