"""Secrets as people tell them in many languages: passwords, PINs, card numbers, codes; removed.

What follows a word for a password is taken for one if it looks like one (it has digits, signs or
capitals within), stands in quotes or behind a colon, or is the one word that ends the sentence and
none with which people describe a password. PINs and codes are digits; those of doors stay. "It's
hunter2" tells what the same sentence or the one before has named. Everything else of it stays. In
command lines that people paste it is the options and variables that hold a password or key.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cache
from uuid import uuid4

from clawkit.text.keyword_search import KeywordSearch, encoded
from clawkit.text.secrets import redact_secrets
from clawkit.text.tables import listed, table, unbroken

PASSWORD, PIN, KEY = "password", "pin", "key"
CARD, CARD_CODE = "card-number", "card-code"

_NAMED = (KEY, PIN, CARD_CODE, PASSWORD)
_NUMBERS = frozenset({PIN, CARD_CODE})
_LONGEST_LINK = 200
_LONGEST_BEFORE = 40
_SHORTEST_PHRASE = 4
_MOST_ROUNDS = 4
_CLOSING = ".,;:)]}…。、\uff0c\uff1b"
_QUOTES = {
    '"': '"',
    "'": "'",
    "`": "`",
    "“": "”",
    "„": "“”",
    "«": "»",
    "\u2018": "\u2019",
    "「": "」",
    "『": "』",
}
# What ends a word though no space does: dashes, quotes and scripts that put none before a particle.
_ENDS_WORD = (
    r"\s«»¿¡\u2010-\u205e\u0e00-\u0e7f\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff"
    r"\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
)
_WORD = re.compile(rf"[^{_ENDS_WORD}]+|\S+")
_CLAUSE = re.compile(r"[^.,;!?\n]+")
_NEXT_WORD = re.compile(rf"[ \t]+(?![^\s:=]+[:=])(?=\w)(?:{_WORD.pattern})")
_MARKED = re.compile(r"(\[removed: [a-z0-9-]+\])")
_SECRET_SIGNS = re.compile(r"[0-9@#$%^&*+=~|<>_\\/!?]|[a-z][A-Z]|\w[-.]\w")
_MIXED = re.compile(r"\d.*[^\W\d]|[^\W\d].*\d")
_TIME_OR_DATE = re.compile(r"\d{1,4}(?:[-./:]\d{1,4}){1,2}[.,]?|\d{1,2}(?:st|nd|rd|th)?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_CODE = re.compile(r"[A-Za-z_][\w.]*\((?:[\"')]|\w+\)|$)|os\.environ\b|\$\{|\$[A-Z_]+$")
_NONE = frozenset({"none", "null", "nil", "empty"})
_LONG_KEY = re.compile(r"(?=[^\s]*\d)(?=[^\s]*[A-Za-z])[\w./+=-]{12,}")
_SHORTEST_POINTED = 5
_MEASURE = re.compile(r"[£$€]?\d+(?:[.,:]\d+)*[^\W\d_]{1,3}\d{0,2}")
_UNSPACED = "\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af"
_ENDS_NUMBER = rf"(?![%€£$°年月日号時点分個回년월일시분개번]|[^\W{_UNSPACED}]|[.,:/-]\d)"
_DIGITS = re.compile(
    r"(?!(?:19|20)\d\d-\d\d?-\d)"
    r"(?:\d(?:[ -]\d){2,11}|\d\d(?:[ -]\d\d){1,5}|\d{3}(?:[ -]\d{3}){1,3}|\d{3,12})" + _ENDS_NUMBER
)
_MOST_DIGITS = 8
_SENTENCE_END = re.compile(r"[.!?…]\s+|[;\n。\uff01\uff1f]\s*")
_CARD = re.compile(r"(?<![0-9A-Za-z_+])\d(?:[ \u00a0.–-]?\d){12,}(?![0-9A-Za-z_])")
_MOST_GROUPS = 6
_FEWEST_DIGITS = 13
_CARDS = (
    (r"4", (16, 19)),
    (r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720", (16,)),
    (r"3[47]", (15,)),
    (r"6011|64[4-9]|65|62|81", (16, 17, 18, 19)),
    (r"30[0-5]|309|36|38|39", (14, 16, 19)),
    (r"352[89]|35[3-8]", (16, 17, 18, 19)),
    (r"5018|5020|5038|5893|6304|6759|676[1-3]", (13, 14, 15, 16, 17, 18, 19)),
)
_VALUE = r"(?:'(?P<single>[^'\n]+)|\"(?P<double>[^\"\n]+)|(?P<bare>[^\s'\"`;|&<>]+))"
_OPTIONS = r"(?:\s+[^\s|;&]+){0,12}?"
_REST = r"[^\n|;&]{0,300}?"
_SECRET = r"(?:password|passwd|passphrase|secret|token|api-?key|access-key|auth|pass)"
_PROGRAMS = (
    r"(?:docker|podman|buildah|skopeo|helm|kubectl|oc|az|aws|gcloud|gh|glab|npm|yarn|twine|mysql\w*"
    r"|mariadb[\w-]*|mongo\w*|pg_\w+|redis-cli|rclone|restic|vault|wget|curl|svn|heroku|vercel|claw)"
)
_COMMANDS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?<!\w)(?:mysql\w*|mariadb[\w-]*){_OPTIONS}\s+-p{_VALUE}",
        rf"(?<!\w)sshpass(?:\s+-[evh]+)*\s+-p\s*{_VALUE}",
        rf"(?<!\w)(?:mongo\w*|(?:docker|podman|buildah|skopeo|az|oc|cf)\s+login)\b{_REST}\s-p\s+{_VALUE}",
        rf"(?<!\w)curl\b{_REST}\s(?:-u|-U|--user|--proxy-user)[\s=]\s*['\"]?[^\s:'\"]+:{_VALUE}",
        rf"(?<!\w)redis-cli\b{_REST}\s-a\s+{_VALUE}",
        rf"(?<!\w)openssl\b{_REST}\s-pass(?:in|out)?\s+pass:{_VALUE}",
        rf"(?<![\w-])--(?:\w+-){{0,3}}{_SECRET}={_VALUE}",
        rf"(?<!\w){_PROGRAMS}\s{_REST}(?<!\S)--(?:\w+-){{0,3}}{_SECRET}\s+{_VALUE}",
        (
            r"(?<![\w$])(?:[A-Z0-9]+_)*(?:[A-Z0-9]*PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|API_?KEY"
            rf"|ACCESS_KEY|SECRET_KEY|MYSQL_PWD)\s?=\s?{_VALUE}"
        ),
    )
)
_COMMAND_HINT = re.compile(r"(?<!\S)-|[A-Z]\s?=")
_FILLED_IN = re.compile(
    r"[${<%\[*(~/-]|\.\.|x+$|\d+:\d+$|(?:true|false|none|null|is|was|are|and|or|to|for|in|on|of|with|from"
    r"|option|options|flag|which|that|it|takes|instead|any ?more)$",
    re.IGNORECASE,
)
"""A place for a value, a file, a port, or a word of a sentence about the option."""


@cache
def _stems() -> KeywordSearch:
    return KeywordSearch(stem.encode() for stem in listed(table("spoken_secrets")["stems"]))


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(table("spoken_secrets")[name].split())


def _links(name: str) -> str:
    return unbroken(table("spoken_secrets")["links"][name])


def has_removed(text: str) -> bool:
    """Whether a secret was taken out of a text."""
    return _MARKED.search(text) is not None


def remove_secrets(text: str) -> tuple[str, tuple[str, ...]]:
    """A text with `[removed: kind]` for each secret in it, and their kinds."""
    kinds: dict[str, None] = {}
    tail = f" {uuid4().hex}"
    redacted, found = redact_secrets(text, tail)
    kinds |= dict.fromkeys(found)
    if found:
        text = re.sub(rf"\[redacted: ([a-z0-9-]+){tail}\]", r"[removed: \1]", redacted)
    if values := _in_commands(text):
        text = _cut(text, values, PASSWORD)
        kinds[PASSWORD] = None
    for _ in range(_MOST_ROUNDS):  # what stood next to a secret may only now be one by itself
        before = text
        text = _remove_once(text, kinds)
        if text == before:
            break
    return text, tuple(kinds)


def _remove_once(text: str, kinds: dict[str, None]) -> str:
    named = bool(_stems().places(encoded(text.lower())))
    for kind in (CARD, *(_NAMED if named else ())):
        text, count = _without_cards(text) if kind == CARD else _without_named(text, kind)
        if count:
            kinds[kind] = None
    return text


def leads_to_secret(text: str) -> bool:
    """Whether a secret may come next, as after "the password is" or "what's the password?"."""
    line = f"{text.rstrip()[-_LONGEST_LINK:]}\n"
    if not _stems().places(encoded(line.lower())):
        return False
    ends = [end.end() for end in _SENTENCE_END.finditer(line, 0, len(line) - 2)]
    last = ends[-1] if ends else 0
    return any(_named(line, kind, last) for kind in _NAMED)


def _named(text: str, kind: str, start: int = 0) -> list[re.Match[str]]:
    """The words for this kind that name a secret."""
    return [
        name
        for name in _names(kind).finditer(text, start)
        if not _is_mentioned().search(text, max(0, name.start() - _LONGEST_BEFORE), name.start())
        and not (kind == PIN and _is_kept(text, name))
        and not _kept_before_unspaced().search(text, 0, name.start())
    ]


def _is_kept(text: str, name: re.Match[str]) -> bool:
    """Whether it is the code of a door or the like."""
    start = max(0, name.start() - _LONGEST_BEFORE)
    return bool(_kept_before().search(text, start, name.start())) or bool(
        _kept_after().match(text, name.end())
    )


@cache
def _is_mentioned() -> re.Pattern[str]:
    mentioned = unbroken(table("spoken_secrets")["names"]["mentioned"])
    return re.compile(rf"(?<!\w)(?:{mentioned})\s+[\"'“„«]?\Z", re.IGNORECASE)


@cache
def _kept_before() -> re.Pattern[str]:
    kept = unbroken(table("spoken_secrets")["names"]["kept"])
    return re.compile(rf"(?<!\w)(?:{kept})(?:['\u2019]s)?[\s-]+\Z", re.IGNORECASE)


@cache
def _kept_before_unspaced() -> re.Pattern[str]:
    kept = unbroken(table("spoken_secrets")["names"]["kept_without_spaces"])
    return re.compile(rf"(?:{kept})[문門的의の]?\s?\Z")


@cache
def _kept_after() -> re.Pattern[str]:
    kept = unbroken(table("spoken_secrets")["names"]["kept"])
    never = unbroken(table("spoken_secrets")["names"]["never_kept"])
    word = rf"(?!(?:{_links('is')}|{never})\s)[^\s.!?;,:=]+\s+"
    of = rf"\s+(?:{_links('of')})\s+"
    return re.compile(rf"{of}(?:{word}){{0,3}}?(?:{kept})(?!\w)", re.IGNORECASE)


@cache
def _names(kind: str) -> re.Pattern[str]:
    """The words for this kind."""
    words = table("spoken_secrets")
    names = unbroken(words["names"][kind])
    if kind == PASSWORD:
        names = f"{names}|{unbroken(words['names']['weak'])}"
    unspaced = table("spoken_secrets")["names_without_spaces"].get(kind, "(?!)")
    return re.compile(rf"(?<![^\W_])(?:{names})(?!\w)|(?:{unspaced})", re.IGNORECASE)


def _without_named(text: str, kind: str) -> tuple[str, int]:
    """A text without the values behind, or before, the words for this kind; how many they were."""
    parts = _MARKED.split(text)
    count = 0
    for at in range(0, len(parts), 2):
        spans = _spans(parts[at], kind)
        count += len(spans)
        parts[at] = _cut(parts[at], spans, kind)
    return "".join(parts), count


def _cut(text: str, spans: list[tuple[int, int]], kind: str) -> str:
    for start, end in reversed(spans):
        text = f"{text[:start]}[removed: {kind}]{text[end:]}"
    return text


def _spans(text: str, kind: str) -> list[tuple[int, int]]:
    """Where the values of this kind are, each once."""
    names = _named(text, kind)
    found = [
        span
        for name in names
        if (span := _value_after(text, name, kind) or _value_before(text, name, kind))
    ]
    if names and kind != KEY:
        found += _pointed_at(text, [name.start() for name in names], kind)
    if kind == PASSWORD:
        found += (*_behind_users(text), *_logged_in_with(text))
    apart: list[tuple[int, int]] = []
    for span in sorted(found):
        if not apart or span[0] >= apart[-1][1]:
            apart.append(span)
    return apart


def _pointed_at(text: str, names: list[int], kind: str) -> Iterator[tuple[int, int]]:
    """The values after "it's", "new is" and the like, in a sentence of a name or the next one."""
    starts = [0, *(end.end() for end in _SENTENCE_END.finditer(text))]
    for pointer in _pointer().finditer(text):
        at = pointer.end()
        number = bisect_right(starts, at)
        first = max(starts[max(0, number - 2)], at - _LONGEST_LINK)
        last = min((*starts, len(text))[number], at + _LONGEST_LINK)
        if bisect_left(names, first) == bisect_left(names, last):
            continue
        span = _value_at(text, at, kind)
        whole = pointer["it"] or (span and _ends_sentence(text, span[1]))
        if span and whole and _is_pointed_at(text, *span, kind):
            yield span


def _is_pointed_at(text: str, start: int, end: int, kind: str = PASSWORD) -> bool:
    """Whether it looks so much like a secret that hardly anything else can be meant."""
    value = text[start:end]
    if kind in _NUMBERS:
        short = sum(map(str.isdigit, value)) <= _MOST_DIGITS
        return short and _ends_clause().match(text, end) is not None
    long = len(value) >= _SHORTEST_POINTED and _MEASURE.fullmatch(value) is None
    return long and _is_secret(text, start, end, PASSWORD, "near")


@cache
def _pointer() -> re.Pattern[str]:
    """ "It's", "old was", "new:"; or what answers a question right away."""
    still = rf"(?:(?:{_links('still')})\s+){{0,2}}"
    first = rf"(?:^|[,.;:!?(\n–—-]\s*|(?<!\w)(?:{_links('before_itself')})\s+)"
    verb = rf"(?:\s+(?:{_links('is')})\b|\s*[:=])"
    which = rf"(?<!\w)(?:{_links('which')})(?:\s+one)?{verb}"
    changed = rf"(?<!\w)(?:{_links('changed_it')})\s+"
    changed_last = (
        rf"(?<!\w)(?:{_links('changed_it_last')})\s+(?=\S+\s+(?:{_links('changed')})(?!\w))"
    )
    itself = rf"{first}{still}(?:{_links('itself')})\s+{still}"
    return re.compile(
        rf"(?P<it>{itself}|{which}\s*{still}|{changed}|{changed_last})|\?\s+|\n\s*",
        re.IGNORECASE,
    )


def _behind_users(text: str) -> Iterator[tuple[int, int]]:
    """The passwords of pairs: "login root / hunter2"."""
    for name in _logins().finditer(text):
        link = _link().match(text, name.end())
        pair = _pair().match(text, link.end() if link else name.end())
        if pair is None or not (span := _value(text, pair.end())):
            continue
        user, value = pair["user"].lower(), text[span[0] : span[1]]
        known = "@" in user or user in _words("users")
        plain = value.isalnum() and value.lower() not in _words("how")
        if _is_pointed_at(text, *span) or (known and plain and value.isalpha()):
            yield span


def _logged_in_with(text: str) -> Iterator[tuple[int, int]]:
    """The passwords of "I log in to the bank with Rosebud!85"."""
    for lead in _log_in().finditer(text):
        span = _value(text, lead.end())
        if span and _is_pointed_at(text, *span) and "@" not in text[span[0] + 1 : span[1] - 1]:
            yield span


@cache
def _log_in() -> re.Pattern[str]:
    login = table("spoken_secrets")["login_with"]
    never, end = unbroken(login["never"]), r"(?:\W|$)"
    return re.compile(
        rf"(?<!\w)(?:{unbroken(login['verb'])})(?!\w)[^.!?;,\n]{{0,60}}?"
        rf"\s(?:{unbroken(login['by'])})\s+(?!(?:{never}){end})",
        re.IGNORECASE,
    )


@cache
def _pair() -> re.Pattern[str]:
    between = rf"\s*[/|]\s*|(?<=[A-Za-z]):|\s*(?:{_links('and_password')})\s+"
    return re.compile(rf"\s*(?P<user>[^\s/|,;:]{{2,60}})(?:{between})(?=[^\s/])", re.IGNORECASE)


@cache
def _logins() -> re.Pattern[str]:
    names = unbroken(table("spoken_secrets")["names"]["login"])
    return re.compile(rf"(?<!\w)(?:{names})(?!\w)", re.IGNORECASE)


@cache
def _link() -> re.Pattern[str]:
    """From the word to its value: for what it is, "is", and "now"."""
    word = r"\s+(?!(?:and|und|y|et|e|but|aber|or|oder)\s)[^\s.!?;,:=\"]+"
    what_for = rf"(?:\s+(?:{_links('of')})(?=\s)(?:{word}){{0,9}}?)?"
    still = rf"(?:\s+(?:{_links('still')})(?!\w)){{0,2}}"
    verb = rf"\s+(?:(?P<is>{_links('is')})|(?P<to>{_links('to')}))(?=[\s:=\"'“„«\u2018`])"
    changed = rf"\s+(?P<changed>{_links('changed')})(?!\w){still}"
    into = rf"\s+(?P<turned>{_links('turned')})(?=\s)"
    link = rf"[\"'`]?\s*[:=]|['\u2019]s(?=\s)|{verb}"
    before = rf"(?:{changed.replace('<changed', '<before')})?"
    only = rf"(?(before){into.replace('<turned', '<into')}|(?!))"
    after = rf"{still}(?:{changed}(?:{into})?)?"
    return re.compile(
        rf"{what_for}{still}{before}(?:(?:{link}){after}|{only})\s*[:=]?\s*", re.IGNORECASE
    )


@cache
def _link_cjk() -> re.Pattern[str]:
    return re.compile(
        rf"[^。\uff01\uff1f\n]{{0,12}}?(?:{_links('is_without_spaces')})\s*(?=[!-~À-ɏ「『“])"
    )


def _value_after(text: str, name: re.Match[str], kind: str) -> tuple[int, int] | None:
    """Where the value of a name is that stands behind it."""
    start = name.end()
    weak = kind == PASSWORD and _is_weak(name[0])
    links = (
        _link().match(text, start),
        None if name[0].isascii() else _link_cjk().match(text, start),
    )
    for link in filter(None, links):
        how = "near" if weak else _link_kind(text, start, link)
        if how == "colon" and kind == PASSWORD and (phrase := _phrase(text, link.end())):
            return phrase
        value = _value_at(text, link.end(), kind, whole="phrase" in name[0].lower())
        if value and _is_secret(text, *value, kind, how):
            return value
    # "my wifi password hunter2", "mein Passwort hunter2 ist": only what cannot be a word.
    gap = _gap(spaced=name[0].isascii()).match(text, start)
    value = _value_at(text, gap.end(), kind) if gap and not weak else None
    if value and _is_secret(text, *value, kind, "near"):
        return value
    return None if kind == KEY or weak else _value_after_aside(text, start, kind)


@cache
def _gap(*, spaced: bool) -> re.Pattern[str]:
    """Between a name and the value right behind it; "dazu" or "changed" may stand there, too."""
    changed = rf"(?:\s+(?:{_links('changed')})(?!\w))?"
    still = rf"{changed}(?:\s+(?:{_links('still')})(?!\w)){{0,2}}"
    return re.compile(rf"{still}\s+" if spaced else rf"{still}\s*", re.IGNORECASE)


def _phrase(text: str, start: int) -> tuple[int, int] | None:
    """The words of a pass phrase behind a colon, to its clause's end; None where it is one word.

    Where it is told how or where the password is, it is no phrase.
    """
    first = _WORD.match(text, start)
    if first is None or text[start] in _QUOTES or _MIXED.search(first[0]):
        return None
    end = first.end()
    while text[end - 1] not in _CLOSING + "!?" and (word := _NEXT_WORD.match(text, end)):
        end = word.end()
    end = start + len(text[start:end].rstrip(_CLOSING + "!?"))
    lead, *others = text[start:end].split()
    if not others or lead.lower() in _words("how"):
        return None
    about = lead.lower() in _words("not_a_phrase")
    return None if about and not any(map(_MIXED.search, others)) else (start, end)


def _value_after_aside(text: str, start: int, kind: str) -> tuple[int, int] | None:
    """ "My pin is my birth year, 1961"; "new alarm code, as of today: 9036"."""
    aside = _aside().match(text, start)
    value = _value_at(text, aside.end(), kind) if aside else None
    if value is None or not _ends_clause().match(text, value[1]):
        return None
    return value if _is_pointed_at(text, *value, kind) else None


@cache
def _aside() -> re.Pattern[str]:
    words = r"[^.!?;:,\n]"
    is_so = rf"{words}{{0,60}}?\s(?:{_links('is')})(?=\s){words}{{1,60}},"
    return re.compile(rf"(?:{is_so}|[^.!?;:\n]{{1,60}}:)\s+", re.IGNORECASE)


@cache
def _ends_clause() -> re.Pattern[str]:
    return re.compile(
        rf"\s*(?:[.,;!?)]|$|\n)|\s+(?:{_links('still')}|and|und)(?!\w)", re.IGNORECASE
    )


@cache
def _is_weak(name: str) -> bool:
    weak = unbroken(table("spoken_secrets")["names"]["weak"]).replace("(?=\\s*[:=])", "")
    return re.fullmatch(weak, name, re.IGNORECASE) is not None


def _link_kind(text: str, start: int, link: re.Match[str]) -> str:
    """How a link ties a value to the name that ends where it starts."""
    colon = link[0].rstrip()[-1:]
    if colon == "=":
        return "assigned"
    if colon in (":", "\uff1a"):
        return "colon"
    parts = link.groupdict()
    turned = parts.get("turned") or parts.get("into")
    if turned:
        return "to" if re.fullmatch(_links("turned_on"), turned, re.IGNORECASE) else "is"
    to = parts.get("to")
    told = parts.get("changed") is None and not (to and not _was_set(text, start, to))
    return "is" if told else "to"


def _value_at(text: str, start: int, kind: str, *, whole: bool = False) -> tuple[int, int] | None:
    if kind not in _NUMBERS or text[start : start + 1] in _QUOTES:
        return _value(text, start, whole=whole)
    article = _article().match(text, start)
    number = _DIGITS.match(text, article.end() if article else start)
    return number.span() if number else None


@cache
def _article() -> re.Pattern[str]:
    return re.compile(rf"(?:{_links('article')})\s+(?=\d)", re.IGNORECASE)


@cache
def _is_my() -> re.Pattern[str]:
    word = r"(?:[^\s.!?;,]{1,40}\s+)"
    return re.compile(
        r"(?P<value>(?P<quote>[\"“„«])[^\"”“»\n]{3,60}[\"”“»]|\S{4,60})\s+"
        rf"(?:(?:is|was|ist|war|es|era|est|è|é|as|als|como|comme|come)\s+(?:{_links('my')})\s+"
        rf"{word}{{0,3}}|(?:as|als|como|comme|come)\s+{word}?)$",
        re.IGNORECASE,
    )


def _value_before(text: str, name: re.Match[str], kind: str) -> tuple[int, int] | None:
    """Where the value of a name is that stands before it: "hunter2 is my password"."""
    end = name.start()
    offset = max(0, end - 200)
    found = _is_my().search(text[offset:end])
    if found is None or not _ends_name().match(text, name.end()):
        return None
    quoted = found["quote"] is not None
    span = (offset + found.start("value") + quoted, offset + found.end("value") - quoted)
    if _names(kind).fullmatch(text, *span):  # "password" is a bad password
        return None
    return span if _is_secret(text, *span, kind, "is" if quoted else "near") else None


@cache
def _ends_name() -> re.Pattern[str]:
    """What follows a name that is whole: a password manager is no password."""
    return re.compile(
        rf"\s*(?:[.!?,;:)]|$|\n)|\s+(?:{_links('of')}|and|und|y|et|e)\s"
        rf"|\s+(?:{_links('changed')})(?!\w)",
        re.IGNORECASE,
    )


def _was_set(text: str, end: int, link: str) -> bool:
    """Whether a name that ends here is in "changed my password to"."""
    changed = r"\b(?:changed?|set|reset|updated?|switched)\b[^.!?;]{0,40}$"
    return (
        link.lower() == "to"
        and re.search(changed, text[max(0, end - 80) : end], re.IGNORECASE) is not None
    )


def _value(text: str, start: int, *, whole: bool = False) -> tuple[int, int] | None:
    """The word here, or what is in quotes, or the `whole` clause; not what ends the sentence."""
    if start >= len(text):
        return None
    closing = _QUOTES.get(text[start])
    if closing:
        ends = [at for sign in closing if (at := text.find(sign, start + 1)) > start + 1]
        if ends and "\n" not in text[start : min(ends)]:
            return start + 1, min(ends)
    word = (_CLAUSE if whole else _WORD).match(text, start)
    if word is None:
        return None
    end = word.end()
    while end > start and text[end - 1] in _CLOSING:
        end -= 1
    return (start, end) if end > start else None


def _is_secret(text: str, start: int, end: int, kind: str, how: str) -> bool:
    """Whether a value is one, by how it is tied to the name: is, colon, assigned, to, near."""
    value = text[start:end]
    if kind in _NUMBERS:
        return _DIGITS.fullmatch(value) is not None
    if kind == KEY:
        return _LONG_KEY.fullmatch(value) is not None
    if not any(map(str.isalnum, value)):
        return False
    if _is_left_out(value, how):
        return False
    if how == "assigned":
        return True
    if _TIME_OR_DATE.fullmatch(value) and (how in ("to", "near") or not value.isdigit()):
        return False
    if _SECRET_SIGNS.search(value) and (how != "near" or _MIXED.search(value)):
        return len(value) >= 3
    if how in ("to", "near") or value.lower().strip("!?") in _words("how"):
        return False
    if start > 0 and text[start - 1] in _QUOTES:
        return True
    if " " in value:
        first, *rest = value.lower().split()
        return len(rest) + 1 >= _SHORTEST_PHRASE and first not in _words("not_a_phrase")
    if _ends_sentence(text, end):
        return True
    return how == "colon" and value.lower() not in _words("not_a_phrase")


def _is_left_out(value: str, how: str) -> bool:
    """Whether none is told: "(none)", where a program asks for it, or the year of a change."""
    if value.strip("()").lower() in _NONE or (how == "to" and _YEAR.fullmatch(value)):
        return True
    return how in ("assigned", "colon") and _CODE.match(value) is not None


def _ends_sentence(text: str, end: int) -> bool:
    return not text[end:].lstrip(_CLOSING + "!?'\"”»’` ") or text[end : end + 1] in tuple(".!;。\n")


def _without_cards(text: str) -> tuple[str, int]:
    spans = [
        (run.start() + start, run.start() + end)
        for run in _CARD.finditer(text)
        for start, end in _cards_in(run[0])
    ]
    return _cut(text, spans, CARD), len(spans)


def _cards_in(run: str) -> Iterator[tuple[int, int]]:
    """The card numbers in a run of digits: whole groups of it, the first that can be one."""
    groups = [(found.start(), found.end()) for found in re.finditer(r"\d+", run)]
    first = 0
    while first < len(groups):
        last = next(
            (
                last
                for last in range(min(len(groups), first + _MOST_GROUPS) - 1, first - 1, -1)
                if sum(end - start for start, end in groups[first : last + 1]) >= _FEWEST_DIGITS
                and _is_card(run[groups[first][0] : groups[last][1]])
            ),
            None,
        )
        if last is None:
            first += 1
        else:
            yield groups[first][0], groups[last][1]
            first = last + 1


def _is_card(written: str) -> bool:
    digits = "".join(str(int(sign)) for sign in written if sign.isdecimal())
    issued = any(len(digits) in sizes and re.match(start, digits) for start, sizes in _CARDS)
    return issued and _luhn(digits)


def _luhn(digits: str) -> bool:
    doubled = (sum(divmod(2 * int(sign), 10)) for sign in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0


def _in_commands(text: str) -> list[tuple[int, int]]:
    """Where pasted command lines hold secrets, each once, in the order of the text."""
    if not _COMMAND_HINT.search(text):
        return []
    found: list[tuple[int, int]] = []
    apart: list[tuple[int, int]] = []
    for pattern in _COMMANDS:
        for match in pattern.finditer(text):
            start, end = match.span(match.lastgroup or 0)
            if match.lastgroup == "bare":
                end = start + len(text[start:end].rstrip(".,:!?)]}…"))
            if start < end and not _FILLED_IN.match(text[start:end]):
                found.append((start, end))
    for span in sorted(found):
        if not apart or span[0] >= apart[-1][1]:
            apart.append(span)
    return apart
