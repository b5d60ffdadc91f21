"""The tokens of a pattern, read one after the other."""

from ..errors import PatternError
from .lexer import PatternToken, bad_pattern, tokens


class TokenReader:
    """The tokens of a pattern's text and the current position; `depth`: number of brackets that are open around the
    text. Raises PatternError for a text that has no tokens."""

    def __init__(self, text: str, depth: int = 0):
        self.text = text
        self.tokens = tokens(text)
        self.position = 0
        self.open = depth

    @property
    def next(self) -> PatternToken:
        return self.tokens[self.position]

    def ahead(self, count: int) -> PatternToken:
        """The token after the current one, or a later one; the end if there are fewer."""
        return self.tokens[min(self.position + count, len(self.tokens) - 1)]

    def take(self) -> PatternToken:
        token = self.next
        self.position += 1
        return token

    def describe_token(self) -> str:
        """The current token, in words."""
        return "the pattern ends here" if self.next.kind == "end" else f"found {self.next.text!r}"

    def error(self, problem: str) -> PatternError:
        return self.error_at(self.next.column, problem)

    def error_at(self, column: int, problem: str) -> PatternError:
        return bad_pattern(self.text, column, problem)

    def expect(self, kind: str, allowed: str) -> PatternToken:
        if self.next.kind != kind:
            raise self.error(f"{self.describe_token()}; {allowed}")
        return self.take()
