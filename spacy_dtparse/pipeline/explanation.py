"""The explanation of a constituent: `Explanation`, plain data and text. `explain` creates them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from ..stored_names import stored_as, to_stored
from ..viz.svg import probability_text

if TYPE_CHECKING:
    from ..dtparse.model.reasons import Fact, Group, Reasons
    from ..dtparse.model.rules import Rule

MAX_LINES = 10
"""Maximum number of lines of an explanation, unless all are requested."""
_MIN_CONTRIBUTION = 0.05
"""A fact or a group with a smaller contribution is omitted, unless all are requested."""


@stored_as("label", "start", "end", "text", "probability", "relation")
@dataclass(frozen=True)
class Alternative:
    """Another bracket or label. `relation`: "same span", "crosses" (it crosses an edge of the constituent), "contains"
    (it covers the constituent and its neighbours) or "shorter" (the same label over fewer of the words)."""

    label: str
    start: int
    end: int
    text: str
    probability: float
    relation: str


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a constituent is in the tree.

    `start`, `end`: tokens of the Doc. `method`: "rules" (boosted trees), "network" or "grammar". `decided`: a sentence
    that states which model decided, and which information is not available. `probability`: that the constituent is
    right, as `span._.probability`: by the span model, the network or the grammar, calibrated if the model has a
    calibration; None without one. `score`: h, the sum of the rules, above 0 for yes; None without rules.
    `runner_up`: the label with the second-highest score, `margin`: the difference of the scores. `groups`: features
    that the rules test, grouped, each group with its part of the score and of the margin; these add up to `score` and
    `margin`. `alternatives`: other labels and brackets, the most probable first.

    `str()` is at most ten lines; `to_text(all=True)` is the whole explanation, with every rule.
    """

    label: str
    text: str
    start: int
    end: int
    method: str
    decided: str
    probability: float | None = None
    alternatives: tuple[Alternative, ...] = ()
    reasons: Reasons | None = field(default=None, repr=False)

    @property
    def score(self) -> float | None:
        return None if self.reasons is None else self.reasons.score

    @property
    def runner_up(self) -> str | None:
        """The label with the second-highest score; without rules the most probable other label of the same span."""
        if self.reasons is not None:
            return self.reasons.runner_up
        return next((other.label for other in self.alternatives if other.relation == "same span"), None)

    @property
    def margin(self) -> float | None:
        return None if self.reasons is None else self.reasons.margin

    @property
    def groups(self) -> tuple[Group, ...]:
        return () if self.reasons is None else self.reasons.groups

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that fired, the largest first."""
        return () if self.reasons is None else self.reasons.rules

    @property
    def reasons_for(self) -> tuple[Fact, ...]:
        """The facts that support the label, the strongest first."""
        return tuple(sorted((f for g in self.groups for f in g.facts if f.value > 0), key=lambda f: -f.value))

    @property
    def reasons_against(self) -> tuple[Fact, ...]:
        """The facts that count against it, the strongest first."""
        return tuple(sorted((f for g in self.groups for f in g.facts if f.value < 0), key=lambda f: f.value))

    def to_text(self, all: bool = False, rules: int | None = None) -> str:
        """Format as lines of plain text: at most ten; with `all` every group, fact and rule. `rules`: number of rules
        to add."""
        lines = [self._title(), f"  {self.decided}"]
        if self.alternatives:
            alternatives_shown = self.alternatives if all else self.alternatives[:2]
            lines.append("  instead: " + "; ".join(_format_alternative(other) for other in alternatives_shown))
        if self.reasons is not None:
            lines += self._all_groups() if all else self._main_groups(MAX_LINES - len(lines))
        n = len(self.rules) if all else rules or 0
        return "\n".join([*lines, *(f"  {rule}" for rule in self.rules[:n])])

    def __repr__(self) -> str:
        return f"<Explanation: {self._title()}>"

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        """The explanation as tables: other labels and brackets, and the groups of facts."""
        parts = [f"<p><b>{escape(self._title())}</b><br/>{escape(self.decided)}</p>"]
        if self.alternatives:
            rows = [
                (other.label, other.text, other.relation, probability_text(other.probability))
                for other in self.alternatives
            ]
            parts.append(_html_table(("instead", "words", "relation", "probability"), rows))
        if self.reasons is not None:
            over = "" if self.runner_up is None else f"over {self.runner_up}"
            groups = [
                (group.name, f"{group.value:+.2f}", f"{group.over:+.2f}" if over else "", self._strongest_facts(group))
                for group in self.groups
            ]
            parts.append(_html_table(("reason", "score", over, "strongest facts"), groups))
            parts.append(f"<p>{self._rule_count()}</p>")
        return f'<div class="tex2jax_ignore">{"".join(parts)}</div>'  # dollar signs in it begin no formulas

    def to_dict(self, rules: int = 0) -> dict[str, Any]:
        """Return plain data; `rules`: number of rules to include, the largest first."""
        return {
            "label": self.label, "text": self.text, "start": self.start, "end": self.end, "method": self.method,
            "decided": self.decided, "probability": self.probability, "score": self.score,
            "runner_up": self.runner_up, "margin": self.margin,
            "alternatives": [to_stored(other) for other in self.alternatives],
            "groups": [{**to_stored(one), "facts": [to_stored(fact) for fact in one.facts]} for one in self.groups],
            "rules": [str(rule) for rule in self.rules[:rules]],
        }  # fmt: skip

    def _title(self) -> str:
        title = f"{self.label} “{_shorten(self.text)}”"
        if self.probability is not None:
            title += f": probability {probability_text(self.probability)}"
        if self.reasons is not None:
            title += f"{',' if self.probability is not None else ':'} rules {self.reasons.score:+.2f}"
            if self.runner_up is not None:
                title += f" (next label {self.runner_up} {self.reasons.score - self.reasons.margin:+.2f})"
        return title

    def _main_groups(self, max_lines: int) -> list[str]:
        """Describe the groups with the largest contributions, the evidence against, and the rest; at most `max_lines`
        lines."""
        assert self.reasons is not None
        ordered = [group for group in self.groups if group.name != "always" and abs(group.value) >= _MIN_CONTRIBUTION]
        shown = sorted(ordered, key=lambda group: -max(abs(group.value), abs(group.over)))[: max_lines - 2]
        lines = [self._format_group(group, 2) for group in shown]
        always = [fact for group in self.groups if group.name == "always" for fact in group.facts]
        against = [fact for fact in self.reasons_against if fact.value <= -_MIN_CONTRIBUTION and fact not in always]
        if against:
            lines.append("  most against it: " + "; ".join(f"{fact.words} {fact.value:+.2f}" for fact in against[:2]))
        rest = [group for group in self.groups if group not in shown]
        left = sum(group.value for group in rest)
        lines.append(
            f"  {left:+.2f} the rest: {', '.join(group.name for group in rest) or 'nothing'}; {self._rule_count()}"
        )
        return lines

    def _all_groups(self) -> list[str]:
        lines = []
        for group in self.groups:
            lines.append(self._format_group(group, 0))
            lines += [f"    {fact.value:+.4f} ({fact.over:+.4f}) {fact.words}" for fact in group.facts]
        return [*lines, f"  {self._rule_count()}:"]

    def _strongest_facts(self, group: Group, max_facts: int = 2) -> str:
        """The facts with the largest contributions in the direction of their group."""
        same = [f for f in group.facts if f.value * group.value > 0 and abs(f.value) >= _MIN_CONTRIBUTION]
        return "; ".join(f"{f.words} {f.value:+.2f}" for f in sorted(same, key=lambda f: -abs(f.value))[:max_facts])

    def _rule_count(self) -> str:
        n = self.reasons.n_rules if self.reasons is not None else 0
        return f"{n} rule{'s' if n != 1 else ''} fired"

    def _format_group(self, group: Group, max_facts: int) -> str:
        over = f" ({group.over:+.2f} over {self.runner_up})" if self.runner_up is not None else ""
        facts = self._strongest_facts(group, max_facts)
        return f"  {group.value:+.2f}{over} {group.name}{': ' if facts else ''}{facts}"


def _html_table(names: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    cells = [[f'<td style="text-align:left">{escape(cell)}</td>' for cell in row] for row in rows]
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _format_alternative(other: Alternative) -> str:
    where = "of the same words" if other.relation == "same span" else f"“{_shorten(other.text)}”"
    crossing = ", which crosses it" if other.relation == "crosses" else ""
    return f"{other.label} {where}{crossing} ({probability_text(other.probability)})"


def _shorten(text: str, max_length: int = 60) -> str:
    """Shorten a text to one line; the middle of a long one is left out."""
    text = " ".join(text.split())
    return (
        text
        if len(text) <= max_length
        else f"{text[: max_length // 2 - 2].rstrip()} … {text[-max_length // 2 + 2 :].lstrip()}"
    )
