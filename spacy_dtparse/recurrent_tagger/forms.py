"""Regular expressions for tokens whose form alone determines their tag.

A model file selects some of these. It cannot define others: an untrusted regular expression may never terminate.
"""

_ENDINGS = "com|org|net|edu|gov|mil|info|biz|io|tv|eu|uk|de|fr|es|nl|se|ch|at|ca|au|nz|jp|cn|ru|br|pl|dk|no|fi"
_EMOJI = "\U0001f000-\U0001faff\u2600-\u2605\u2615\u2639-\u263b\u2661\u2665\u26a1\u2728\u2764\u2b50\u200d\ufe0f"
FORMS = {
    "ADD": (
        r"^(?:[Hh][Tt][Tt][Pp][Ss]?://|[Ww][Ww][Ww]\.)\S+$",
        rf"^[A-Za-z0-9-]{{2,}}(?:\.[A-Za-z0-9-]+)*\.(?:{_ENDINGS})(?:[/:?]\S*)?$",
        r"^[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+$",
        r"^@\w{2,}$",
    ),
    "NFP": (rf"^[{_EMOJI}]+$",),
    ":": (r"^\u2026+$",),
}
"""Tag -> regular expressions for whole tokens: addresses (ADD) and emoji (NFP) as in the English Web Treebank, whose
few hundred examples are all different, so that no tagger can learn them; and the ellipsis."""
PENN_FORMS = {"TO": (r"^[Tt][Oo]$",), ":": (r"^(?:-{2,}|\u2014+)$",)}
"""The same for forms on which treebanks disagree: their tags in the Penn Treebank. Elsewhere *to* can be IN."""

PATTERNS = tuple(form for forms in (*FORMS.values(), *PENN_FORMS.values()) for form in forms)
"""All regular expressions of FORMS and PENN_FORMS."""
