"""How a grammar decided on the constituents of a parse."""

from ..core.parser import Decision, Decisions
from ..trees.tree import Tree


class GrammarDecisions(Decisions):
    """The decisions of a parse by a grammar."""

    def decision(self, constituent: int, only: bool = False) -> Decision:
        """Return the expansion of a constituent and its cost."""
        tree, cost = self.result.tree, self.result.costs[constituent]
        expansion = f"{tree.labels[constituent]} → {child_labels(tree, constituent)}"
        return Decision(
            "grammar", f"A grammar chose the tree as a whole; in it {expansion} costs {cost:.2f} (0 is certain)."
        )


def child_labels(tree: Tree, parent: int) -> str:
    """The labels and tags directly below a constituent of the tree."""
    labels: list[str] = []
    at, k = tree.starts[parent], parent + 1
    while at < tree.ends[parent]:
        if k < len(tree.labels) and tree.starts[k] == at and tree.ends[k] <= tree.ends[parent]:
            labels.append(tree.labels[k])
            at = tree.ends[k]
            while k < len(tree.labels) and tree.starts[k] < at:
                k += 1
        else:
            labels.append(tree.tags[at])
            at += 1
    return " ".join(labels)
