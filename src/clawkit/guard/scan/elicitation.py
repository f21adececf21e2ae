"""Questions of a server that a person must not answer: they ask for a secret, or lead astray."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, cast

from clawkit.guard.scan.poisoning import names_secret_file
from clawkit.text.normalization import plain

_A_SECRET = "a secret"
_DEPTH = 100
_LONGEST = 100_000
_LONGEST_NAME = 80
# Words in small letters, without accents, with one space between them. What can be typed in digits:
_NUMBERS = (
    r"\bpass ?codes?\b|\bpin\b|\bpin ?(?:codes?|numbers?|nummer)\b|\btan\b"
    r"|\bgeheim ?(?:zahl|nummer)"
    r"|\bcvv\d?\b|\bcvc\d?\b|\botp\b|\bmfa\b|\b2 ?fa\b|\btotp\b|\b(?:two|multi) factor\b"
    r"|\bone time (?:code|pass|pin)"
    r"|\b(?:verification|authentication|authenticator|security|recovery|backup|sms|log ?in"
    r"|confirmation|secret|access|unlock|\d digit) codes?\b"
    r"|\b(?:sicherheits|bestatigungs|zugangs|zugriffs|einmal|toegangs|verificatie) ?codes?\b"
    r"|\bcode (?:secret|pin|d acces|de (?:verification|confirmation|securite))\b"
    r"|\bcodi(?:go|ce) (?:secreto|segreto|pin|otp"
    r"|d[ei] (?:verifica|seguranca|seguridad|sicurezza|acces|acesso))"
    r"|\b(?:credit|debit|bank|payment) ?cards?\b|\b(?:credit|debit) ?card|\bcard ?(?:number|no)\b"
    r"|(?:kredit|bank|giro|debit) ?karte|karten ?(?:pruf ?)?nummer"
    r"|\bcarte (?:bancaire|bleue|de credit)"
    r"|\bnumero (?:de|della|di|do) (?:la |ta |tu |su |votre )?(?:cart|tarjeta)"
    r"|\b(?:carta|tarjeta|cartao) (?:de|di|bancaria)\b|\biban\b|\bbank account|\brouting number"
    r"|\bssn\b|\bsocial security"
)
_WORDS = (
    r"\bpass ?(?:words?|wd|phrases?|keys?)\b|\bpwd\b|\bpsw\b|\bmdp\b|kenn ?wort|pass ?wort"
    r"|\blosungswort|\bmot de passe|\bparola d ordine"
    r"|\b(?:api|private|secret|access|ssh|gpg|pgp|encryption|decryption|signing|recovery|licen[cs]e"
    r"|master|deploy|aws|openai|anthropic|stripe|azure|webhook) ?keys?\b|\bapikey"
    r"|\b(?:api|ssh|privat\w{0,3}|geheim\w{0,4}|zugangs|zugriffs|lizenz|haupt) ?schlu?e?ssel"
    r"|\bcle (?:api|ssh|privee|secrete|d acces|d api)\b"
    r"|\b(?:clave|chave|chiave|llave) (?:api|ssh|privada|privata|secreta|segreta|personal"
    r"|d[ei] (?:acces+o|acesso|api|seguridad))|\b(?:tu|su|sua|tua) (?:clave|chave|chiave)\b"
    r"|\b(?:api|prive) ?sleutel"
    r"|\b(?:access|auth|bearer|refresh|api|session|security|personal access|bot|id)? ?token\b"
    r"|\b(?:zugriffs|zugangs|sitzungs) ?token|\bjeton (?:d|de|api)\b"
    r"|\bsecrets?\b|\bcredentials?\b|\bcreds\b|\bzugangsdaten|\banmeldedaten|\bidentifiants\b"
    r"|\bcredenzial|\bcredencial"
    r"|\b(?:seed|recovery|secret) (?:phrase|words?)|\bmnemonic|\bphrase (?:secrete|de recuperation)"
    r"|\bfras[ei] (?:semilla|secreta|segreta|d[ei] recuper)"
    r"|wiederherstellungs ?(?:phrase|code|schlussel)"
)
# What is no secret although it has such a word.
_HARMLESS = (
    r"\b(?:max|number of|count|limit) tokens?\b"
    r"|\btoken (?:count|counts|limit|limits|budget|usage|symbol|type)\b"
    r"|(?<!your )(?<!the )(?<!enter )\bpin (?:(?:this|the|that|a|my) )?"
    r"(?:it|messages?|posts?|notes?|comments?|tabs?|threads?|chats?|versions?|boards?)\b"
    r"|\b(?:boarding|day|season|travel|bus|train|ski|visitor|guest|hall|museum|event|mountain|first"
    r"|second|tests?|by|will|may|can|must|shall|not|to) pass\b"
)
# Words of other languages, folded as the texts are: in letters that have no look-alike in others
# some are changed by that.
_ELSEWHERE = (
    "contraseña senha palavra-passe wachtwoord lösenord adgangskode kodeord passord salasana hasło"
    " heslo jelszó şifre lozinka geslo slaptažodis парол лозинка"
    " токен номер-карты код-подтверждения ключ-api пин-код"
    " κωδικός-πρόσβασης συνθηματικό סיסמה סיסמא كلمة-المرور كلمة-السر رمز-عبور"
    " پاس-ورد پاسورڈ पासवर्ड পাসওয়ার্ড รหัสผ่าน mật-khẩu kata-sandi"
    " 密码 密碼 口令 密钥 密鑰 私钥 私鑰 令牌 验证码 驗證碼 信用卡 助记词 助記詞"
    " パスワード 暗証番号 認証コード クレジットカード 秘密鍵 apiキー トークン"
    " 비밀번호 암호 인증번호 신용카드 개인키 api키 api-키 토큰"
)
# A field or a short text may be these alone, while a longer one may well have them in it.
_NAMES = frozenset({"pass", "pw", "parola", "clave", "chave", "pasword", "passwrd", "psswd"})
_LAST_NAMES = re.compile(
    r"^(?:\w+ )?(?:pass|pw)$"
    r"|\b(?:user|db|my|login|root|admin|e?mail|smtp|ftp|sudo|wifi|sql|mysql|pg)pass$"
)
_IN_NAMES = ("password", "passwd", "passwort", "passphrase", "passcode", "apikey", "privatekey")
_NOT_PASSWORDS = re.compile(r"(?:com|by|sur|tres|encom)pass")
_SEPARATORS = re.compile(r"[\W_]+")
_SPACED_OUT = re.compile(r"\b(?:\w ){2,}\w\b")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DIGITS_AS_LETTERS = str.maketrans("013457@$!", "oieastasi")
_NOT_SHOWN = frozenset({"type", "required", "pattern", "$schema", "$id", "$ref"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_CHOICES = ("anyOf", "oneOf")


def asks_for_secret(schema: Any, message: str = "") -> str | None:
    """What a question asks for if that is a password, a key, a token, a PIN or a card.

    The name of the field, or "a secret" if something else than a field says so.
    """
    form = _Form()
    form.look(schema, _A_SECRET, _DEPTH)
    for name, text in form.fields:
        if _is_secret(text):
            return name
    if form.is_too_deep:
        return _A_SECRET
    said = (message, *form.said)
    if form.takes_text:
        return _A_SECRET if any(map(_is_secret, said)) else None
    if form.takes_numbers:
        return _A_SECRET if any(map(_is_secret_number, said)) else None
    return None  # Where there are only choices, nothing can be written.


class _Form:
    """What is said in a form at any depth, and what a person can write there."""

    def __init__(self) -> None:
        self.fields: list[tuple[str, str]] = []
        """What is said of each field in which a person can write, its name too."""
        self.said: list[str] = []
        """What is said elsewhere: of the form, and of choices."""
        self.is_too_deep = False
        self.takes_numbers = False
        self._takes_text = False
        self._has_choices = False

    @property
    def takes_text(self) -> bool:
        """A question without a form may be answered by anything."""
        return self._takes_text or not (self.takes_numbers or self._has_choices)

    def look(self, schema: Any, name: str, depth: int) -> None:
        if isinstance(schema, str):
            self._hear(name, schema)
        elif not depth:
            self.is_too_deep = self.is_too_deep or isinstance(schema, (dict, list))
        elif isinstance(schema, list):
            for part in cast("list[Any]", schema):
                self._look_at(part, name, depth)
        elif isinstance(schema, dict):
            for key, value in cast("dict[str, Any]", schema).items():
                if key in _NAMED and isinstance(value, dict):
                    self._look_at_fields(cast("dict[str, Any]", value), depth)
                elif key not in _NOT_SHOWN:
                    self._look_at(value, name, depth)

    def _hear(self, name: str, text: str) -> None:
        if name is _A_SECRET:
            self.said.append(text)
        else:
            self.fields.append((name, text))

    def _look_at_fields(self, fields: dict[str, Any], depth: int) -> None:
        for name, field in fields.items():
            if _is_choice(field, depth):
                self._has_choices = True
                self.said.append(name)
                self.look(field, _A_SECRET, depth - 1)
                continue
            if _is_number(field):
                self.takes_numbers = True
            else:
                self._takes_text = True
            self.fields.append((name, name))
            if _is_marked(field):
                self.fields.append((name, "password"))
            self.look(field, name, depth - 1)

    def _look_at(self, value: Any, name: str, depth: int) -> None:
        of = _A_SECRET if _is_choice(value, depth, is_option=True) else name
        self.look(value, of, depth - 1)


def _is_choice(field: Any, depth: int, *, is_option: bool = False) -> bool:
    """Whether a person can only choose among what is given.

    A field with a constant is none: a client that does not know `const` has it filled in.
    """
    if not isinstance(field, dict) or not depth:
        return False
    schema = cast("dict[str, Any]", field)
    if "properties" in schema or _is_marked(schema):
        return False
    branches = [schema[key] for key in _CHOICES if isinstance(schema.get(key), list)]
    found = [branch for listed in branches for branch in cast("list[Any]", listed)]
    if found:
        return all(_is_choice(branch, depth - 1, is_option=True) for branch in found)
    if "items" in schema:
        return _is_choice(schema["items"], depth - 1, is_option=True)
    if is_option and "const" in schema:
        return True
    if schema.get("type") in ("boolean", "null"):
        return True
    return isinstance(schema.get("enum"), list) and bool(schema["enum"])


def _is_number(field: Any) -> bool:
    if not isinstance(field, dict):
        return False
    schema = cast("dict[str, Any]", field)
    is_simple = not any(isinstance(value, (dict, list)) for value in schema.values())
    return is_simple and schema.get("type") in ("number", "integer")


def _is_marked(field: Any) -> bool:
    """Whether a field says of itself that it is for a secret."""
    if not isinstance(field, dict):
        return False
    schema = cast("dict[str, Any]", field)
    return (
        "password" in str(schema.get("format")).lower()
        or schema.get("writeOnly") is True
        or any(value is True and _is_secret(key) for key, value in schema.items())
    )


def _is_secret(text: str) -> bool:
    if len(text) > _LONGEST:
        return True  # Nothing honest is that long, and to read all of it would keep others waiting.
    if names_secret_file(text):
        return True
    return any(map(_names_secret, _readings(text)))


def _is_secret_number(text: str) -> bool:
    """Whether a text names a secret that can be written in digits."""
    if len(text) > _LONGEST:
        return True
    return any(re.search(_NUMBERS, re.sub(_HARMLESS, " ", words)) for words in _readings(text))


def _names_secret(words: str) -> bool:
    if len(words) <= _LONGEST_NAME and _is_secret_name(words):
        return True
    rest = re.sub(_HARMLESS, " ", words)
    if re.search(_WORDS, rest) or re.search(_NUMBERS, rest):
        return True
    return any(word in f" {words} " for word in _elsewhere())


def _is_secret_name(words: str) -> bool:
    compact = words.replace(" ", "")
    if compact in _NAMES or _LAST_NAMES.search(re.sub(_HARMLESS, " ", words)):
        return True
    return any(word in compact for word in _IN_NAMES) and not _NOT_PASSWORDS.search(compact)


@cache
def _elsewhere() -> tuple[str, ...]:
    """Each word as texts are read; those in Latin letters must begin where a word begins."""
    return tuple(
        f" {folded}" if folded.isascii() else folded
        for folded in (_worded(word) for word in _ELSEWHERE.split())
    )


def _readings(text: str) -> set[str]:
    """A text in words, as it stands, by its capitals, and with digits for letters."""
    spelled = (text, text.translate(_DIGITS_AS_LETTERS))
    return {_worded(form) for each in spelled for form in (each, _CAMEL.sub(" ", each))}


def _worded(text: str) -> str:
    """Words in small letters with one space between them, however they were written."""
    words = _SEPARATORS.sub(" ", _unaccented(plain(text))).strip()
    return _SPACED_OUT.sub(lambda found: found[0].replace(" ", ""), words)


def _unaccented(text: str) -> str:
    if text.isascii():
        return text
    import unicodedata

    letters = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def link_of(params: dict[str, Any]) -> str | None:
    """The address that a question wants a person to open, if it does; empty if it is no text."""
    if "url" not in params and params.get("mode") in (None, "form"):
        return None
    url = params.get("url")
    return url if isinstance(url, str) else ""


def host_of(url: str) -> str:
    """The host that an address leads to; empty where it is not one that may be opened.

    Only https, or http to this machine, and nothing in it that hides where it leads.
    """
    from urllib.parse import urlsplit

    if not url.isascii() or not url.isprintable() or any(sign in url for sign in ' \\"<>`'):
        return ""
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    if "@" in parts.netloc or not re.fullmatch(r"[a-z0-9.-]+|[0-9a-f:.]+", host):
        return ""
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_here(host)):
        return ""
    return parts.netloc.lower()


def _is_here(host: str) -> bool:
    import ipaddress

    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
