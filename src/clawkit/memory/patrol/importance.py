"""How important a text is, and whether it is about work: by its words, without a model."""

from __future__ import annotations

import re

USUAL = 0.5

_WEIGHTS = (
    (
        0.85,
        (
            r"\b(remember (that|this)|don't forget|keep in mind|note that|never forget)\b"
            r"|覚えて(おい)?て|忘れないで"
        ),
    ),
    (
        0.8,
        (
            r"\b(allerg\w+|diagnos\w+|pregnan\w+|died|passed away|funeral|cancer|surgery|divorc\w+"
            r"|married|wedding|engaged|born|my name is|call me|birthday|medication)\b"
            r"|アレルギー|妊娠|亡くな|葬儀|手術|離婚|結婚|婚約|生まれ|名前は|と呼んで|誕生日|病気|薬"
        ),
    ),
    (
        0.7,
        (
            r"\b(decided|decision|agreed|deadline|from now on|moved to|moving to|new job|quit|hired"
            r"|fired|promoted|i live in|i work (at|for|as|in)|always|never|password|address"
            r"|let's go with)\b"
            r"|決め|決まり|決定|締め切り|締切|今後は|これからは|引っ越|転職|退職|昇進|住んで|勤め|働いて"
        ),
    ),
    (
        0.6,
        (
            r"\b(like|likes|love|loves|prefer|prefers|hate|hates|dislike|favou?rite|enjoy|wife"
            r"|husband|daughter|son|mother|father|mom|mum|dad|sister|brother|dog|cat|partner"
            r"|girlfriend|boyfriend|child|children|kids)\b"
            r"|好き|嫌い|苦手|得意|妻|夫|娘|息子|母|父|兄|姉|弟|妹|犬|猫|彼女|彼氏|子供|子ども"
        ),
    ),
)
_WEIGHED = tuple((weight, re.compile(words, re.IGNORECASE)) for weight, words in _WEIGHTS)
_PASSING = re.compile(
    r"\b(right now|at the moment|this morning|tonight|a bit|just (now|got|had))\b"
    r"|今は|いまは|さっき",
    re.IGNORECASE,
)
_BUSINESS = re.compile(
    r"\b(work(s|ed|ing)?|job|office|colleagues?|co-?workers?|boss|manager|client|clients|customers?"
    r"|project|projects|meeting|meetings|deadline|contract|invoice|budget|company|business|team"
    r"|sprint|release|deploy\w*|server|servers|database|production|release|repository|code|bug"
    r"|bugs|sales|marketing|revenue|salary|interview|startup|investors?|stakeholders?|quarterly"
    r"|presentation|report|roadmap|product|api|software|engineer\w*)\b"
    r"|仕事|会社|職場|同僚|上司|部下|会議|打ち合わせ|取引先|顧客|案件|契約|請求|予算|納期|締め切り|締切"
    r"|売上|営業|開発|リリース|サーバー|プロジェクト|出張|給料|面接|業務|弊社|御社|社長|部長|課長",
    re.IGNORECASE,
)


def importance(text: str) -> float:
    """Between 0 and 1: what changes a life or was asked to be kept weighs most."""
    for weight, words in _WEIGHED:
        if words.search(text):
            return weight
    return USUAL - 0.1 if _PASSING.search(text) else USUAL


def is_business(text: str) -> bool:
    return _BUSINESS.search(text) is not None
