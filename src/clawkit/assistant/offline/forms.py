"""How sentences look that ask, tell, take back, want something done, or are only polite."""

from __future__ import annotations

import re
from typing import Literal

from clawkit.assistant.offline.words import listed

Act = Literal["ask", "tell", "forget", "request", "greet", "thank", "bye", "agree", "help"]
Asks = Literal["", "when", "where", "who", "count"]


def _form(*pieces: str) -> re.Pattern[str]:
    return re.compile("".join(pieces), re.IGNORECASE)


def _one_of(*pieces: str) -> str:
    return f"(?:{'|'.join(pieces)})"


LEAD = _form(
    r"^(?:(?:",
    r"(?:no|now|yes|sorry|yeah|right|correction|oh|hey|hi|hello|also|and|but|well|so|then)[,:!]|",
    r"please|ok(?:ay)?[,.]?|well|and|also|btw,?|by the way,?|fyi[,:]?|just so you know[,:]?|",
    r"for your information,?|actually,?|oh,?|i (?:just )?changed my mind[,:.]?|hey|bitte",
    r")\s+)+",
)
POLITE = _form(
    r"^(?:(?:can|could|would|will) you(?: please| kindly)?|i(?:'d| would) like you to|",
    r"i (?:want|need) you to|(?:kannst|könntest) du(?: bitte)?|peux-tu|puedes) ",
)
REMEMBER = _form(
    r"^(?:please |always )*",
    _one_of(
        r"remember|note|memori[sz]e|keep in mind|bear in mind|(?:don['’]?t|do not|never) forget",
        r"make a note|take note|write down|note to self|for the record",
        r"merke? dir(?: bitte)?|retiens|souviens-toi|rappelle-toi|recuerda",
        r"请?记住|請?記住|覚えて(?:おいて)?",
    ),
    r"(?: this| the following)?",
    r"(?:\s*[:\uff1a,\uff0c]\s*|\s+(?:that|dass|que|of)\s+|\s+qu['’]|\s+|(?=[\u3040-\u9fff]))",
)
FORGET = _form(
    r"^(?:please )?(?:forget|disregard|vergiss(?: bitte)?|oublie|olvida|忘记了?|忘れて)",
    r"(?:\s+(?:about|that|what i (?:said|told you)(?: about)?|everything about|dass|que))?",
    r"(?:\s+|$|(?=[\u3040-\u9fff]))",
)
_OF_FACT = r"(?:what|who|where|when|which|how|whose)"
DO_YOU = _form(
    r"^",
    _one_of(
        r"do you (?:still )?(?:remember|know|recall)",
        r"(?:please )?(?:tell|remind) me(?: again)?"
        rf"(?=:? (?:{_OF_FACT}|if|whether|my|our|the|about|everything|all|of|[^\W_]+['’]s))",
        rf"i (?:forgot|forget|don['’]t remember|can['’]t remember)(?= {_OF_FACT})",
        r"weißt du(?: noch)?|erinnerst du dich an|sag mir|dis-moi|dime",
    ),
    r"\b[:,]?\s*(?:about (?=my|our|the)|of )?",
)
WH = _form(
    r"^(?:what|who|where|when|how)['’](?:s|re)\b|",
    r"^(?:what|which|who|whose|whom|why|how) \w+|",
    r"^(?:where|when)(?: \w+){0,3}? ",
    r"(?:is|are|was|were|am|do|does|did|can|could|will|would|should|has|have|to)\b|",
    r"^(?:wer|wo|wann|wie|welche[rsnm]?|wem|wen|warum) \w+|",
    r"^was (?:ist|sind|weißt|habe|mag|war|heißt)\b|",
    r"^(?:quel(?:le)?s?|où|qui|quand|comment|que sais|qu['’]est)\b|",
    r"^(?:cuál|dónde|quién|cuándo|qué|cómo)\b",
)
NOT_WH = _form(r"what an? |when (?:i|we|you) ")
# A capital is a name here, so this one minds them.
INVERTED = re.compile(
    r"^(?i:is|are|am|was|were|do|does|did|can|could|will|would|should|have|has|isn['’]t|aren['’]t|"
    r"don['’]t|doesn['’]t) "
    r"(?:(?i:i|you|my|we|our|he|she|it|they|the|there|that|this|his|her|their)|[A-Z]\w+)\b"
)
CJK_QUESTION = _form(
    "什么|什麼|哪里|哪裡|哪儿|谁|誰|几点|多少|吗|嗎|何|どこ|いつ|だれ|ですか|ますか|か$"
)
TOLD_TO_DO = _form(
    r"^(?:write|make|create|translate|summari[sz]e|explain|list|give|show|draw|generate|help me|",
    r"fix|find|search|open|send|run|calculate|compute|read|look|describe|compare|analy[sz]e|tell|",
    r"convert|book|order|play|delete|remove|add|check|review|build|think|try|solve|suggest|",
    r"recommend|print|repeat|count|sort|rewrite|improve|plan|buy|download|update|test|answer|do|",
    r"go|let['’]?s|i need help|ignore|pretend|act|schreib\w*|erkläre?|übersetze?|écris|explique|",
    r"traduis|escribe|explica|traduce)\b",
)

SMALL_TALK: tuple[tuple[Act, re.Pattern[str]], ...] = (
    (
        "greet",
        _form(
            r"(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening|day)|hallo|bonjour|salut|",
            r"hola|guten (?:tag|morgen|abend)|buenos días|你好|こんにちは)",
            r"(?: there| again| everyone)?",
        ),
    ),
    (
        "thank",
        _form(
            r"(?:ok,? |great,? |perfect,? )?(?:many )?(?:thanks?(?: you)?|thx|cheers|merci|",
            r"danke(?: schön)?|gracias|谢谢|ありがとう)(?: a lot| so much| very much| you)?",
        ),
    ),
    ("bye", _form(r"(?:good)?bye|see you(?: later)?|good night|ciao|tschüss|adiós|再见")),
    (
        "agree",
        _form(
            r"(?:ok(?:ay)?|yes|no|yep|nope|sure|great|perfect|cool|nice|good|fine|right|ja|nein|",
            r"oui|non|sí|well done|awesome|test|testing)",
        ),
    ),
    ("help", _form(r"(?:help|hilfe|aide|ayuda)(?: me)?(?: please)?")),
)

ASKS: tuple[tuple[Asks, re.Pattern[str]], ...] = (
    (
        "when",
        _form(
            r"\b(?:when|wann|quand|cuándo|(?:what|which) (?:time|day|date|year))\b|",
            "几点|什么时候|いつ",
        ),
    ),
    (
        "where",
        _form(
            r"\b(?:where|wo|où|dónde|(?:what|which) (?:city|town|country|place))\b|",
            "哪里|哪儿|どこ",
        ),
    ),
    ("count", _form(r"\bhow (?:many|much|old|tall|long|far|big|heavy)\b")),
    ("who", _form(r"\b(?:who|whose|whom|wer|qui|quién)\b|谁|誰|だれ")),
)

OPTIONAL = listed(
    """tim day dat city town country plac year thing kind typ sort person month hour befor previou
    previously earlier originally exact exactly room detail answer question week"""
)
"""Words of a question, as keys, that its answer need not have."""
THIRD = listed("he she they him his her their them er ihm ihr il elle él ella")
CORRECTION = _form(
    r"^(?:it['’]s|it is|i meant?|make (?:it|that)|it should be)\s+(?:now |actually )?",
    r"(.+?)(?: now| instead)?[.!]?$",
)
CORRECTING = _form(r"\b(?:actually|no|sorry|correction|changed my mind|meant?|now|instead|make)\b")
