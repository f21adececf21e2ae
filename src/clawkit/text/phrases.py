"""How orders to a model are worded: patterns over folded text, in which words are small letters
and every white space is one space."""

from __future__ import annotations

import re
from functools import cache

_ = r"\W{0,4}"  # nothing at all where a hidden character held two words apart
_WORDS = r"(?:\w{1,14}\W{1,4})"

_DROP = r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?)"
_EARLIER = (
    r"(?:previous|prior|above|earlier|preceding|existing|original|initial|former|foregoing|system)"
)
_ORDERS = (
    r"(?:instruction|prompt|rule|guideline|directi(?:on|ve)|command|message|context|constraint"
    r"|programming|training)"
)
_TOLD = (
    rf"(?:above|before{_}this|that{_}came{_}before"
    rf"|(?:you{_}(?:were|have{_}been|ve{_}been)|i{_}(?:have)?){_}(?:told|said|taught))"
)
_WHOSE = r"(?:your|all|any|these|every|my|our)"

_OVERRIDE_EN = (
    rf"{_DROP}{_}{_WORDS}{{0,4}}{_EARLIER}{_}{_WORDS}{{0,2}}{_ORDERS}",
    rf"{_DROP}{_}{_WHOSE}{_}(?:of{_})?(?:the{_}|your{_})?(?:instruction|prompt|guideline|programming)",
    rf"{_DROP}{_}{_WORDS}{{0,4}}instructions?{_}(?:above|before|you{_}(?:were|have))",
    rf"{_DROP}{_}(?:everything|anything|all){_}(?:{_WORDS}{{0,2}}){_TOLD}",
)
_EARLIER_DE = r"(?:vorherig|bisherig|vorangegangen|vorhergehend|obig|früher|vorig)\w{0,3}"
_ORDERS_DE = r"(?:anweisung|instruktion|befehl|vorgabe|regel|prompt|aufforderung)"
_DROP_DE = r"(?:ignorier|vergiss|vergess)\w{0,4}"
_OVERRIDE_DE = (
    rf"\b{_DROP_DE}{_}{_WORDS}{{0,4}}{_EARLIER_DE}{_}{_WORDS}{{0,1}}{_ORDERS_DE}",
    rf"\b{_EARLIER_DE}{_}{_WORDS}{{0,1}}{_ORDERS_DE}\w{{0,3}}{_}{_WORDS}{{0,2}}{_DROP_DE}",
)
_OVERRIDE_FR = (
    rf"\b(?:ignore[zr]?|oublie[zr]?){_}{_WORDS}{{0,4}}(?:instruction|consigne|directive)s?"
    rf"{_}{_WORDS}{{0,2}}(?:pr[eé]c[eé]dent|ant[eé]rieur|ci{_}dessus|initial)"
)
_OVERRIDE_ES = (
    rf"\b(?:ignor(?:a|e|ar|ad)|olvid(?:a|e|ar|ad)){_}{_WORDS}{{0,4}}instrucci(?:ones|[oó]n)"
    rf"{_}{_WORDS}{{0,2}}(?:anterior|previa|inicial|de{_}arriba)"
)
_OVERRIDE_ZH = (
    r"(?:忽略|无视|無視|忘记|忘記|忘掉|不要理会|不要理會)[^。!?]{0,12}"
    r"(?:之前|以上|先前|前面|上述|此前|所有)[^。!?]{0,8}"
    r"(?:指令|指示|说明|說明|提示|规则|規則|命令|要求)"
)
_TELL = r"(?:tell|mention|inform|reveal|disclos|notify)(?:ing|e)?"
_PERSON = r"(?:user|human)s?\b"
_CONCEAL = (
    rf"(?:\bnot|\bnever|n{_}t|\bwithout){_}(?:ever{_}|to{_})?{_TELL}{_}{_WORDS}{{0,5}}{_PERSON}",
    rf"\b(?:hid(?:e|ing)|conceal(?:ing)?|secret){_}{_WORDS}{{0,4}}from{_}(?:the{_})?{_PERSON}",
)
_ROLE = (
    rf"\byou{_}are{_}now{_}(?:an?\b|acting|playing|pretending|dan\b|evil|unrestricted|jailbroken)",
    rf"\byou{_}are{_}now{_}(?:free{_}from|in{_}(?:developer|debug|god|admin|jailbreak|dan)\b)",
    rf"\byou{_}are{_}no{_}longer{_}(?:bound|restricted|limited|an?{_}(?:ai|assistant|language))",
    rf"\bfrom{_}now{_}on{_}you{_}(?:are|will|must|shall|should|act|answer|respond|behave)\b",
)
_ASSETS = (
    rf"(?:password|credential|api{_}key|secret|private{_}key|ssh{_}key|access{_}(?:key|token)|token"
    rf"|conversation|chat{_}history|environment{_}variable|system{_}prompt|\w{{0,20}}\.env\b)"
)
_EXFILTRATE = (
    rf"\b(?:send|post|upload|forward|transmit|submit|leak|exfiltrat|e{_}?mail)\w{{0,3}}{_}"
    rf"{_WORDS}{{0,5}}(?:your|user){_}{_WORDS}{{0,4}}{_ASSETS}\w{{0,3}}{_}{_WORDS}{{0,6}}"
    rf"to{_}(?:\w{{1,14}}{_}){{0,3}}(?:https?\W|www\W|[\w.+-]{{1,40}}@)"
)
_PROMPT_LEAK = (
    rf"\b(?:reveal|print|repeat|output|show|display|leak|tell{_}me|give{_}me){_}"
    rf"{_WORDS}{{0,3}}your{_}(?:system|initial|hidden|original|secret){_}(?:prompt|instruction|message)"
)
_ROLE_TAGS = (
    r"<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id|begin_of_text|eot_id)",
    r"</?(?:system|assistant)(?:[ _-](?:prompt|message|instructions?|reminder))? ?>",
    r"(?<![\w\]])\[/?inst\]",
    r"<</?sys>>",
)
_ORDER_TAG = r"<(?:important|critical|urgent|secret|hidden)(?:[ _-]instructions?)? ?>"

_PHRASES = {
    "override": (*_OVERRIDE_EN, *_OVERRIDE_DE, _OVERRIDE_FR, _OVERRIDE_ES, _OVERRIDE_ZH),
    "conceal": _CONCEAL,
    "new-role": _ROLE,
    "exfiltrate": (_EXFILTRATE,),
    "prompt-leak": (_PROMPT_LEAK,),
    "role-tag": _ROLE_TAGS,
    "order-tag": (_ORDER_TAG,),
}
NAMES = tuple(_PHRASES)


@cache
def phrase(name: str) -> re.Pattern[str]:
    """All wordings of a phrase. Compiled when first needed: most processes never do."""
    return re.compile("|".join(_PHRASES[name]))
