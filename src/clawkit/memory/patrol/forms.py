"""The forms by which people state facts, ask, request and greet; English and Japanese."""

from __future__ import annotations

import re

_NO_ABBREVIATION = "".join(
    rf"(?<!\b{word}\.)" for word in ("Mr", "Ms", "Mrs", "Dr", "St", "e\\.g", "i\\.e", "[A-Z]")
)
SENTENCE_END = re.compile(rf"(?<=[。\uff01\uff1f])|(?<=[.!?]){_NO_ABBREVIATION}[\"')\]]?\s+|\n+")
BULLET = re.compile(r"^\s*(?:[-*•・#]+|\d{1,2}[.)])\s+")
JAPANESE = re.compile("[\u3041-\u30ff\u4e00-\u9fff]")

_STARTS_QUESTION = (
    "what|who|whom|whose|when|where|why|how|which|can|could|would|will|shall|should|do|does|did"
    "|is|are|am|was|were|have|has|had|may|might|isn't|aren't|don't you|doesn't|didn't|any idea"
)
QUESTION = re.compile(
    rf"[?\uff1f]\s*$|^(?:and|but|so|ok|okay|hey|hi|well)?[, ]*(?!(?:when|what|where) (?:i|we)\b)"
    rf"(?:{_STARTS_QUESTION})\b(?!['’])"
    r"|(?:ですか|ますか|でしょうか|ましたか|だろうか|かな|かしら|のか|どう|何|なに|どこ|いつ|誰)[。.]?\s*$",
    re.IGNORECASE,
)
REQUEST = re.compile(
    r"^(?:please|pls|kindly|help|show|tell|give|explain|write|list|make|create|find|fix|add"
    r"|update|remove|delete|change|translate|summari[sz]e|rewrite|use|try|let me|look|check|run"
    r"|go ahead|stop|continue|generate|describe|compare|suggest|convert|ignore|disregard|forget"
    r"|act|pretend|say|draw|(?:let's|let us) (?:say|pretend|imagine|assume|suppose))\b"
    r"|\b(?:i (?:want|need|would like|'d like|d like) (?:you|help)|i'd like you|i want to know"
    r"|i need to know|i was wondering|i wonder|i'm wondering|can you|could you|would you|will you"
    r"|help me|tell me|show me|give me|let me know|i'm asking|i have a question|my question"
    r"|i'm looking for (?:help|advice)|please)\b"
    r"|(?:ください|下さい|お願い|てくれ|てほしい|教えて|ちょうだい|頂け|いただけ|してみて)",
    re.IGNORECASE,
)
# About the work at hand, which is over when the conversation is.
OF_THE_MOMENT = re.compile(
    r"\b(?:attached|here(?:'s| is) (?:my|the)|my (?:code|script|function|query|program|file|error"
    r"|bug|output|input|prompt|essay|draft|text)"
    r"|i need (?:a|an|the|some) (?:function|script|query|regex|list|table|summary|way|program|class"
    r"|method|command|answer|example)|i'd like (?:a|to (?:book|order|know|see|get))"
    r"|i(?:'m| am) (?:trying|getting|seeing|stuck)"
    r"|i (?:get|got|have) (?:an?|the|this) (?:error|message|exception|warning)"
    r"|i (?:ran|typed|pasted|executed) (?:the|this|your) (?:command|script|code|tests?|program)"
    r"|i (?:can't|cannot|can not) (?:open|run|see|find|get|install|connect|make|understand)"
    r"|i (?:don't|do not) think so|i think (?:the|it|this|that|you)"
    r"|your (?:answer|mistakes?|help|code|response|suggestion|work)"
    r"|you(?:'re| are) (?:right|wrong))\b"
    r"|^(?:(?:and|but|so|then),? )?(?:if|unless|suppos(?:e|ing)|imagin(?:e|ing)|assum(?:e|ing)"
    r"|hypothetically|for (?:example|instance)|in (?:the|this|my) (?:story|novel|game|book|dream))"
    r"\b"
    r"|^you(?:'re| are) my\b|^(?:thanks|thank you)\W+(?:that|this|it)\b"
    r"|^(?:that|this|it) (?:makes|work(?:s|ed)|help(?:s|ed)|sounds|looks|seems)\b"
    r".{0,40}\bme\b.{0,9}$"
    r"|^(?:もし|仮に|たとえば|例えば)",
    re.IGNORECASE,
)
JOKE = re.compile(r"\b(?:kidding|joking)\b|^(?:lol|haha)\b|冗談", re.IGNORECASE)
"""Takes back what was said just before."""

OTHERS_WORDS = re.compile('"[^"]*"|“[^”]*”|「[^」]*」|『[^』]*』')
"""What somebody else said, or a title: the speaker does not state it."""

SMALL_TALK = re.compile(
    r"^(?:hi|hello|hey|thanks|thank you|ok|okay|sure|yes|no|yeah|yep|nope|great|cool|nice|lol|haha"
    r"|good (?:morning|evening|night|afternoon)|bye|see you|sorry|wow|right|exactly|got it|i see"
    r"|i agree|i understand|i don't know|i do not know|i'm not sure|i am not sure|i think so"
    r"|i guess(?: so)?|i hope so|i mean|i know|me too|same here|i'm (?:good|fine|ok|okay|well|back"
    r"|here|ready|done|confused)|i am (?:good|fine|ok|okay|well|back|here|ready|confused)|my bad"
    r"|i appreciate (?:it|that|your help)|i love it|i like it|i like that|we'll see|my pleasure)"
    r"[\s,.!]*(?:thanks|thank you|then|so much|very much|a lot|that|now|too)?[\s.!]*$"
    r"|^(?:ありがとう|どうも|こんにち|こんばん|おはよう|お疲れ|はい|いいえ|うん|なるほど|了解|承知|わかりました"
    r"|分かりました|そうです|そうだね|すみません|ごめん|よろしく|おやすみ|さようなら)",
    re.IGNORECASE,
)
ABOUT_SELF = re.compile(
    r"(?<![\w'])(?:i|i'm|i've|i'd|i'll|my|mine|me|we|we're|we've|we'll|our|ours|us|im|ive)(?![\w'])",
    re.IGNORECASE,
)
TOLD_TO_KEEP = re.compile(
    r"\b(?:remember (?:that|this|to)?|note that|keep in mind|don't forget|for (?:the|your) record"
    r"|fyi|from now on|going forward)\b|覚えて|忘れないで|今後は|これからは",
    re.IGNORECASE,
)
DECIDED = re.compile(
    r"\b(?:decided|agreed|settled on|let's go with|the plan is|the deadline is|deadline is|is due"
    r"|call me|is moved to|is scheduled for|postponed|cancelled|canceled)\b"
    r"|決め|決まり|決定|約束|予定|締め切り|締切|延期|中止|と呼んで",
    re.IGNORECASE,
)
_PEOPLE_DO = (
    "likes|loves|hates|prefers|dislikes|enjoys|lives|lived|works|worked|moved|wants|told|bought"
    "|quit|owns|speaks|plays|studies|teaches|married|died|said"
)
_ANYTHING_DOES = (
    "is|was|has|had|needs|got|will|went|came|started|stopped|joined|left|turned|can't|cannot"
    "|doesn't|does not"
)
# Somebody by name at the start. `Python is fast` has the same form, so `does` tells what it is.
ABOUT_SOMEBODY = re.compile(
    rf"^(?!(?:The|This|That|It|There|These|Those|Here|What|My|Our|A|An|In|On|At|If|You|He|She|They|We|I)\b)"
    rf"([A-Z][\w'’-]+(?: [A-Z][\w'’-]+)?)(?: and [A-Z][\w'’-]+)? "
    rf"(?:{_PEOPLE_DO}|(?P<does>{_ANYTHING_DOES}))\b"
)
INTRODUCED = re.compile(r"^(?:I'm|I am|I’m) [A-Z][\w-]+[.!]?$")
GOES_ON = re.compile(
    r"^(?:he|she|it|they|his|her|hers|its|their|that|this|these|those|there|him|them|both)\b"
    r"|^(?:彼|彼女|それ|これ|その|この|あれ|あの|そこ)",
    re.IGNORECASE,
)
JAPANESE_FACT = re.compile(
    r"私|僕|俺|わたし|ぼく|うちの|我々|弊社|自分"
    r"|(?:が|は|も)(?:大好き|好き|大嫌い|嫌い|苦手|得意|欲しい|ほしい)|アレルギー"
    r"|妻|夫|娘|息子|母|父|兄|姉|弟|妹|祖母|祖父|友達|友人|同僚|上司|犬|猫|子供|子ども"
    r"|誕生日|名前は|会社|仕事|住んで|引っ越|生まれ|働いて|勤め|趣味|結婚|離婚|転職|入院|旅行"
    r"|毎朝|毎日|毎晩|毎週|毎月|毎年|いつも|普段|今日|昨日|明日|先週|来週|先月|来月|去年|来年|今朝|今夜|昨夜|一昨日|明後日|\d月\d{1,2}日"
)
JAPANESE_STATEMENT = re.compile(
    r"(?:ます|ました|です|でした|ません|ませんでした|だ|だった|た|ている|てる|い|う|く|る|ない"
    r"|んだ|よ|ね)[。.\uff01!\s]*$"
)
RELATION = re.compile(
    r"\b[Mm]y (?:\w+ )?(?:wife|husband|partner|daughter|son|mother|father|mom|mum|dad|sister"
    r"|brother|dog|cat|friend|boss|colleague|girlfriend|boyfriend|fianc[eé]e?|neighbou?r|teacher"
    r"|doctor)(?:'s name is| is called| is named| named| called|,)? ([A-Z][\w-]+)"
)
