"""Forms of English words that the analysis of clauses needs, since the package has no lemmatizer."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def forms(*verbs: str) -> frozenset[str]:
    """The regular forms of verbs (*ask*: ask, asks, asked, asking); further forms follow the verb after slashes."""
    found = set()
    for entry in verbs:
        verb, *others = entry.split("/")
        stem = verb[:-1] if verb.endswith("e") and not verb.endswith("ee") else verb
        third, past = f"{verb}s", f"{stem}ed"
        if verb.endswith("y") and verb[-2] not in "aeiou":
            third, past = f"{verb[:-1]}ies", f"{verb[:-1]}ied"
        elif verb.endswith(("s", "sh", "ch", "x", "z")):
            third = f"{verb}es"
        found |= {verb, third, past, f"{stem}ing", *others}
    return frozenset(found)


BE = _words("be am is are was were been being 's 're 'm ’s ’re ’m ai s m re")
HAVE = _words("have has had having 've 'd 's ’ve ’d ’s ve of")
DO = _words("do does did doing done")
GET = _words("get gets got gotten getting")
AUXILIARIES = BE | HAVE | DO | GET
"""Verbs before a VP that are auxiliaries, besides MD and TO."""
IS_OR_HAS = _words("'s ’s s")
NOT_PASSIVE = _words("been gone come become arrived happened had got gotten grown fallen")
"""Participles after *'s* that make a perfect (*it's been*)."""
LINKING = BE | forms("become/became", "remain", "seem")
"""Verbs whose noun phrase is a complement (*became a nurse*), not an object."""
NEGATIONS = _words("not n't n’t never nt")

NAMING = forms(
    "call", "name", "elect", "consider", "appoint", "deem", "label", "dub/dubbed", "declare", "title", "rename"
)
"""Verbs whose second noun phrase is a complement (*called him a fool*)."""

DITRANSITIVE = forms(
    "give/gave/given/giving", "tell/told", "show/shown", "send/sent", "offer", "ask", "teach/taught", "pay/paid", "owe",
    "buy/bought", "bring/brought", "lend/lent", "cost", "make/made", "hand", "charge", "promise",
    "remind", "save", "wish", "deny", "grant", "leave/left", "get/got/gotten/getting", "do/does/did/done", "feed/fed",
)  # fmt: skip
"""Verbs with two noun phrases as objects."""

KEEPING = forms(
    "keep/kept", "get/got/gotten/getting", "leave/left", "catch/caught", "find/found", "set/setting", "send/sent"
)
"""Verbs whose noun phrase before a participle is an object (*kept him waiting*)."""

SPEECH = forms(
    "say/said", "ask", "reply/replied", "answer", "cry/cried", "shout", "whisper", "tell/told", "exclaim", "add",
    "think/thought", "write/wrote/written", "explain", "state", "note", "announce", "declare", "observe", "respond",
    "continue", "claim", "report", "insist", "admit/admitted/admitting", "argue", "warn", "suggest", "believe",
    "repeat", "mutter", "murmur", "yell", "scream", "call", "wonder", "sing/sang/sung", "read", "go/went", "agree",
)  # fmt: skip
"""Verbs that report speech or thought, before or after it."""

QUESTION = forms(
    "ask", "wonder", "know/knew/known", "see/saw/seen", "check", "decide", "doubt", "tell/told", "care", "determine",
    "find/found", "learn", "understand/understood", "remember", "forget/forgot/forgotten", "say/said", "show/shown",
    "explain", "matter", "mind", "guess", "discover", "inquire", "test", "verify", "notice", "think/thought", "discuss",
)  # fmt: skip
"""Verbs whose complement may be an indirect question (*ask if he came*)."""

CONDITIONAL = _words("would 'd ’d will 'll ’ll wo shall should might may")
"""Auxiliaries that make *if* conditional (*I would have told you if …*)."""

CONTROL = forms(
    "ask", "tell/told", "want", "allow", "force", "persuade", "order", "get/got/gotten/getting", "help", "advise",
    "enable", "encourage", "expect", "need", "teach/taught", "urge", "warn", "invite", "require",
    "permit/permitted/permitting", "cause", "remind", "instruct", "convince", "lead/led", "beg/begged/begging", "like",
    "wish", "request", "command", "forbid/forbade/forbidden", "compel/compelled", "oblige", "motivate", "inspire",
    "challenge",
)  # fmt: skip
"""Verbs whose infinitive after an object is a complement (*told him to go*), not a purpose (*used it to go*)."""

MOTION = forms(
    "go/went/gone", "come/came/coming", "run/ran/running", "stop/stopped/stopping", "walk", "travel", "return", "stay",
    "rush", "hurry", "sit/sat/sitting", "stand/stood", "move", "fly/flew/flown", "drive/drove/driven", "wait", "arrive",
    "leave/left", "meet/met", "work", "pause", "rise/rose/risen", "live",
)  # fmt: skip
"""Verbs whose infinitive is a purpose (*went to buy milk*)."""

RAISING = forms(
    "say/said", "believe", "expect", "suppose", "know/knew/known", "report", "think/thought", "consider", "allege",
    "allow", "force", "require", "find/found", "see/saw/seen", "prepare", "want", "need", "ask", "schedule", "stay",
    "determine", "commit/committed", "intend", "use", "design", "tell/told",
)  # fmt: skip
"""Verbs whose infinitive after a passive is a complement (*is said to be*)."""

TIME_NOUNS = _words(
    "today tomorrow yesterday tonight day days week weeks weekend weekends month months year years morning mornings "
    "afternoon afternoons evening evenings night nights hour hours minute minutes second seconds time times moment "
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thurs fri sat sun mondays tuesdays "
    "wednesdays thursdays fridays saturdays sundays january february march april may june july august september "
    "jan. feb. mar. apr. jun. jul. aug. sept. sep. oct. nov. dec. jan feb mar apr jun jul aug sept oct nov dec "
    "october november december spring summer autumn fall winter decade decades century centuries season semester "
    "noon midnight once twice pm am p.m. a.m. while bit home way anymore lot mile miles meters feet yards "
    "degrees ago"
)
"""Nouns of noun phrases that may be adverbial (*slept two hours*)."""
WHEN = _words("last next every each")
"""First words of noun phrases of time that are seldom objects."""
SPENDING = forms("spend/spent", "waste", "pass")
TAKES_TIME = forms(
    "spend/spent", "waste", "take/took/taken", "save", "have/has/had", "need", "want", "enjoy", "buy/bought",
    "make/made", "find/found", "set/setting", "like", "love", "lose/lost", "give/gave/given", "pick", "choose/chose",
    "celebrate", "remember", "miss", "schedule", "ruin", "use", "require", "allow", "know/knew/known", "see/saw/seen",
    "do/does/did/done", "own", "sell/sold", "leave/left", "pass", "count", "earn", "add", "change", "kill",
)  # fmt: skip
"""Verbs whose noun phrase of time is an object (*spent two hours*)."""
