"""How people name their secrets, in the languages that we know: patterns, and words around them."""

from __future__ import annotations

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
