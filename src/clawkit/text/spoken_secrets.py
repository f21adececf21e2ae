"""Secrets as people tell them in many languages: passwords, PINs, card numbers; removed.

What follows a word for a password is taken for one if it looks like one (it has digits, signs or
capitals within), stands in quotes or behind a colon, or is the one word that ends the sentence and
none with which people describe a password. Everything else of the sentence stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from uuid import uuid4

from clawkit.text.keyword_search import KeywordSearch, encoded
from clawkit.text.secrets import redact_secrets

PASSWORDS = (
    r"pass[ -]?words?|pass[ -]?codes?|pass[ -]?phrases?|pwd|passwd|log-?in code"
    r"|(?:recovery|seed|secret) phrase"
    r"|(?:\w{0,20}-?)(?:passwort|kennwort)s?|passw(?:\u00f6)rter|kennw(?:\u00f6)rter"
    r"|contrase(?:\u00f1|n)as?|mots? de passe|parola d'ordine"
    r"|clave(?=\s+(?:del?\s+)?(?:la\s+)?(?:wifi|wi-fi|acceso|usuario|correo|router|banco)\b)"
    r"|senhas?|palavras?[ -]passe|\w{0,20}wachtwoord(?:en)?|has\u0142[oa]|l\u00f6senord(?:et)?"
    r"|adgangskode(?:n)?|passord(?:et)?|salasana(?:ni)?|heslo|jelsz[\u00f3a]\w{0,3}"
    r"|парол[ьяюе]|\u015fifre\w{0,5}|parola(?:m|s\u0131|m\u0131z)"
    r"|parola(?=\s+(?:mea|noastr\u0103|este)\b)|κωδικός|סיסמה|كلمة (?:السر|المرور)"
)
PINS = r"pin(?:[ -]?(?:code|nummer|number))?|geheimzahl|пин(?:-?код)?|codice pin"
KEYS = (
    r"(?:api|access|secret|private|license|licence|encryption|service)[ -]?keys?"
    r"|(?:api|access|auth|bearer|refresh)[ -]?tokens?|(?:client|api)[ -]?secrets?"
    r"|(?:api-?|zugangs|lizenz|geheim)schl\u00fcssel|cl(?:\u00e9|e)s? (?:d['\u2019])?api"
    r"|claves? (?:de )?api|chiave api|chave (?:de |da )?api|ключ api|api[ -]?ключ"
)
CARD_CODES = r"cvv2?|cvc2?|security code of (?:my|the|our) card|(?:karten)?pr\u00fcfnummer"
WITHOUT_SPACES = {
    "password": "密码|密碼|口令|パスワード|合言葉|비밀번호|패스워드|암호|รหัสผ่าน|पासवर्ड",
    "pin": "暗証番号|PINコード|핀번호",
    "key": "密钥|金鑰|APIキー|API 키",
}
"""Of scripts in which no space need be around a word."""

STEMS = (
    *(
        "pass",
        "pwd",
        "phrase",
        "login code",
        "log-in code",
        "kennw",
        "contrase",
        "clave",
        "mot de ",
    ),
    *("mots de ", "parola", "senha", "palavra", "wachtwoord", "hasł", "lösenord", "adgangskode"),
    *("salasana", "heslo", "jelsz", "парол", "şifre", "κωδικός", "סיסמה", "كلمة", "pin"),
    *("geheimzahl", "пин", "key", "token", "secret", "schlüssel", "clé", "cle", "chiave", "chave"),
    *("ключ", "cvv", "cvc", "security code", "prüfnummer", "密", "口令", "パスワード", "合言葉"),
    *("비밀번호", "패스워드", "암호", "รหัสผ่าน", "पासवर्ड", "暗証番号", "핀번호", "金鑰", "apiキー"),
    "api 키",
)
"""One of these is in every text with one of the names, in small letters."""

IS = (
    r"is|are|was|=|:|\u2013|\u2014|ist|lautet|hei(?:\u00df|ss)t|war|sind|es|son|era|ser\u00e1|est"
    r"|sera|\u00e9tait|\u00e8|\u00e9|luidt|jest|to jest|brzmi|\u00e4r|er|je|este|это|был|стал|ise"
    r"|olarak|είναι|هي|הוא|היא"
)
IS_WITHOUT_SPACES = "是|为|為|\uff1a|:|=|は|が|는|은|이|가|คือ|है"
TO = r"to|as|be|auf|als|a|por|como|\u00e0|en|comme|come|com|para|naar|na|на|как|on|-"
"""These also stand before words that are no value: what follows must look like a secret."""

OF = (
    r"for|of|at|to|from|in|on|that|which|f\u00fcr|von|vom|zum|zur|im|am|beim|der|des|de|del|para|en"
    r"|que|du|pour|\u00e0|au|di|della|per|do|da|voor|van|op|z|dla|f\u00f6r|til|от|для|к|на|mea"
    r"|noastr\u0103|i|we|ich"
)
STILL = (
    r"now|still|again|currently|just|simply|always|set|changed|updated|called|not|no longer"
    r"|jetzt|nun|noch|immer|weiterhin|wieder|momentan|aktuell|einfach|nicht|ge\u00e4ndert|gesetzt"
    r"|ahora|siempre|todav\u00eda|simplemente|maintenant|toujours|encore|simplement"
    r"|d\u00e9sormais|adesso|ora|sempre|ancora|agora|ainda|nu|nog|altijd|teraz|сейчас|теперь"
    r"|\u015fimdi|art\u0131k"
)
MY = (
    r"my|our|the|his|her|your|mein|unser|das|dein|mi|la|tu|mon|le|ton|il|o|a|minha|sua|het|mijn|мой"
)
_NOT_A_PHRASE = (
    "in on at the a an my our written kept stored hidden known too very not under behind with im "
    "auf unter en dans sur sous na"
)
NOT_A_PHRASE = frozenset(_NOT_A_PHRASE.split())
"""What a pass phrase does not begin with: then it is told where it is, not what."""

_HOW = (
    "wrong correct incorrect right weak strong secure insecure safe unsafe secret private "
    "needed required necessary missing forgotten lost gone expired invalid valid changed reset "
    "set stored saved written known unknown empty long short new old different same hard easy "
    "simple complicated protected encrypted hashed hidden leaked stolen public compromised "
    "shared broken locked blocked here there below above ready fine ok okay important mandatory "
    "optional unique temporary permanent case-sensitive default mine yours ours hers his theirs "
    "something nothing anything it that this too also visible invisible rotated due overdue "
    "falsch richtig korrekt schwach stark sicher unsicher geheim nötig notwendig erforderlich "
    "weg vergessen verloren abgelaufen ungültig gültig geändert gesetzt gespeichert notiert "
    "bekannt unbekannt leer lang kurz neu alt gleich anders schwer einfach kompliziert "
    "geschützt verschlüsselt gestohlen gesperrt wichtig da hier dort fällig zurückgesetzt "
    "incorrecta correcta débil fuerte segura insegura secreta necesaria obligatoria olvidada "
    "perdida caducada válida inválida cambiada guardada conocida desconocida vacía larga corta "
    "nueva vieja diferente igual difícil fácil robada bloqueada importante mía aquí ahí faux "
    "fausse bon bonne faible fort forte sûr nécessaire obligatoire oublié perdu expiré valide "
    "invalide changé modifié enregistré connu inconnu vide court nouveau ancien différent "
    "identique difficile facile volé bloqué ici là sbagliata sbagliato corretta debole sicura "
    "segreta necessaria dimenticata persa scaduta valida cambiata salvata lunga nuova vecchia "
    "diversa uguale semplice rubata bloccata qui errada correta fraca necessária esquecida "
    "expirada alterada salva longa curta nova antiga simples roubada aqui fout juist verkeerd "
    "zwak sterk veilig nodig vergeten verlopen gewijzigd opgeslagen kort nieuw oud hetzelfde "
    "moeilijk makkelijk gestolen geblokkeerd belangrijk неверный верный слабый сильный надёжный "
    "простой сложный новый старый забыт утерян изменён истёк нужен"
)
HOW = frozenset(_HOW.split())
"""With these people say how a password is, not what it is."""

PASSWORD, PIN, KEY, CARD, CARD_CODE = "password", "pin", "key", "card-number", "card-code"

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
_MARKED = re.compile(r"(\[removed: [a-z0-9-]+\])")
_SECRET_SIGNS = re.compile(r"[0-9@#$%^&*+=~|<>_\\/!?]|[a-z][A-Z]|\w[-.]\w")
_MIXED = re.compile(r"\d.*[^\W\d]|[^\W\d].*\d")
_TIME_OR_DATE = re.compile(r"\d{1,4}(?:[-./:]\d{1,4}){1,2}[.,]?|\d{1,2}(?:st|nd|rd|th)?")
_LONG_KEY = re.compile(r"(?=[^\s]*\d)(?=[^\s]*[A-Za-z])[\w./+=-]{12,}")
_DIGITS = re.compile(r"\d[\d -]{1,10}\d|\d{3,12}")
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


@cache
def _stems() -> KeywordSearch:
    return KeywordSearch(stem.encode() for stem in STEMS)


def remove_secrets(text: str) -> tuple[str, tuple[str, ...]]:
    """A text with `[removed: kind]` for each secret in it, and their kinds."""
    kinds: dict[str, None] = {}
    tail = f" {uuid4().hex}"
    redacted, found = redact_secrets(text, tail)
    for kind in found:
        kinds[kind] = None
    if found:
        text = re.sub(rf"\[redacted: ([a-z0-9-]+){tail}\]", r"[removed: \1]", redacted)
    for _ in range(_MOST_ROUNDS):  # what stood next to a secret may only now be one by itself
        before = text
        text = _remove_once(text, kinds)
        if text == before:
            break
    return text, tuple(kinds)


def _remove_once(text: str, kinds: dict[str, None]) -> str:
    named = bool(_stems().places(encoded(text.lower())))
    for kind, remove in _removers() if named else ((CARD, _without_cards),):
        text, count = remove(text)
        if count:
            kinds[kind] = None
    return text


def _removers() -> tuple[tuple[str, Callable[[str], tuple[str, int]]], ...]:
    return (
        (CARD, _without_cards),
        *((kind, _named(kind)) for kind in (KEY, PIN, CARD_CODE, PASSWORD)),
    )


@cache
def _named(kind: str) -> Callable[[str], tuple[str, int]]:
    """What takes the values out that stand behind, or before, the words for this kind."""
    names = {
        PASSWORD: PASSWORDS,
        PIN: PINS,
        KEY: KEYS,
        CARD_CODE: CARD_CODES,
    }[kind]
    unspaced = WITHOUT_SPACES.get(kind, "(?!)")
    said = re.compile(rf"(?<!\w)(?:{names})(?!\w)|(?:{unspaced})", re.IGNORECASE)

    def remove(text: str) -> tuple[str, int]:
        parts = _MARKED.split(text)
        count = 0
        for at in range(0, len(parts), 2):
            spans = _spans(parts[at], said, kind)
            count += len(spans)
            for start, end in reversed(spans):
                parts[at] = f"{parts[at][:start]}[removed: {kind}]{parts[at][end:]}"
        return "".join(parts), count

    return remove


def _spans(text: str, said: re.Pattern[str], kind: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for name in said.finditer(text):
        span = _behind(text, name, kind) or _before(text, name, kind)
        if span is not None and all(
            span[0] >= end or start >= span[1] for start, end in found[-2:]
        ):
            found.append(span)
    return sorted(found)


@cache
def _link() -> re.Pattern[str]:
    """From the word to its value: for what it is, "is", and "now"."""
    word = r"\s+(?!(?:and|und|y|et|e|but|aber|or|oder)\s)[^\s.!?;,:=\"]+"
    what_for = rf"(?:\s+(?:{OF})(?=\s)(?:{word}){{0,6}}?)?"
    still = rf"(?:\s+(?:{STILL})){{0,2}}"
    verb = rf"\s+(?:(?P<is>{IS})|(?P<to>{TO}))(?=[\s:=\"'“„«\u2018`])"
    link = rf"\s*[:=]|['\u2019]s(?=\s)|{verb}"
    return re.compile(
        rf"{what_for}(?:{still}(?:{link})){still}\s*[:=]?\s*",
        re.IGNORECASE,
    )


@cache
def _link_cjk() -> re.Pattern[str]:
    return re.compile(rf"[^。\uff01\uff1f\n]{{0,12}}?(?:{IS_WITHOUT_SPACES})\s*(?=[!-~「『“])")


def _behind(text: str, name: re.Match[str], kind: str) -> tuple[int, int] | None:
    """Where the value of a name is that stands behind it."""
    start = name.end()
    for link in (_link().match(text, start), _link_cjk().match(text, start)):
        if link is None:
            continue
        colon = link[0].rstrip()[-1:]
        value = _value(text, link.end(), whole="phrase" in name[0].lower())
        how = "assigned" if colon == "=" else "colon" if colon in (":", "\uff1a") else "is"
        if how == "is" and link.groupdict().get("to") and not _was_set(text, start, link["to"]):
            how = "to"
        if value and _is_secret(text, *value, kind, how):
            return value
    # "my wifi password hunter2", "mein Passwort hunter2 ist": only what cannot be a word.
    gap = re.compile(r"\s+").match(text, start)
    value = _value(text, gap.end()) if gap else None
    return value if value and _is_secret(text, *value, kind, "near") else None


@cache
def _is_my() -> re.Pattern[str]:
    return re.compile(
        r"(?P<value>\S{4,60})\s+(?:is|ist|es|est|è|é|as|als|como|comme|come)\s+"
        rf"(?:{MY})\s+(?:[^\s.!?;,]{{1,40}}\s+){{0,3}}$",
        re.IGNORECASE,
    )


def _before(text: str, name: re.Match[str], kind: str) -> tuple[int, int] | None:
    """Where the value of a name is that stands before it: "hunter2 is my password"."""
    end = name.start()
    offset = max(0, end - 200)
    found = _is_my().search(text[offset:end])
    if found is None or not _ends_name().match(text, name.end()):
        return None
    span = (offset + found.start("value"), offset + found.end("value"))
    return span if _is_secret(text, *span, kind, "near") else None


@cache
def _ends_name() -> re.Pattern[str]:
    """What follows a name that is whole: a password manager is no password."""
    return re.compile(rf"\s*(?:[.!?,;:)]|$|\n)|\s+(?:{OF}|and|und|y|et|e)\s", re.IGNORECASE)


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
    one = r"[^.,;!?\n]+" if whole else r"[!-~]+(?=[^\x00-\x7f\s])|\S+"
    word = re.compile(one).match(text, start)
    if word is None:
        return None
    end = word.end()
    while end > start and text[end - 1] in _CLOSING:
        end -= 1
    return (start, end) if end > start else None


def _is_secret(text: str, start: int, end: int, kind: str, how: str) -> bool:
    """Whether a value is one, by how it is tied to the name: is, colon, assigned, to, near."""
    value = text[start:end]
    if kind in (PIN, CARD_CODE):
        return _DIGITS.fullmatch(value) is not None
    if kind == KEY:
        return _LONG_KEY.fullmatch(value) is not None
    if not any(map(str.isalnum, value)):
        return False
    if how == "assigned":
        return True
    if _TIME_OR_DATE.fullmatch(value) and (how in ("to", "near") or not value.isdigit()):
        return False
    if _SECRET_SIGNS.search(value) and (how != "near" or _MIXED.search(value)):
        return len(value) >= 3
    if how in ("to", "near") or value.lower().strip("!?") in HOW:
        return False
    if start > 0 and text[start - 1] in _QUOTES:
        return True
    if " " in value:
        first, *rest = value.lower().split()
        return len(rest) + 1 >= _SHORTEST_PHRASE and first not in NOT_A_PHRASE
    return how == "colon" or _ends_sentence(text, end)


def _ends_sentence(text: str, end: int) -> bool:
    return not text[end:].lstrip(_CLOSING + "!?'\"”»’` ") or text[end : end + 1] in tuple(".!;。\n")


def _without_cards(text: str) -> tuple[str, int]:
    spans = [
        (run.start() + start, run.start() + end)
        for run in _CARD.finditer(text)
        for start, end in _cards_in(run[0])
    ]
    for start, end in reversed(spans):
        text = f"{text[:start]}[removed: {CARD}]{text[end:]}"
    return text, len(spans)


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
