# ruff: noqa: RUF001 - letters and marks of Cyrillic, Turkish and Chinese are meant.

from __future__ import annotations

import pytest

from clawkit.text.cues import (
    is_about_past,
    is_sum,
    only_asks,
    says_cancelled,
    says_change,
    tells_home,
    wants_done,
)


@pytest.mark.parametrize(
    "text", ["Please forget that Leo is allergic to cashews", "bitte vergiss die Adresse von Tom"]
)
def test_a_polite_order_tells_nothing(text: str) -> None:
    assert only_asks(text)


@pytest.mark.parametrize("text", ["12 * 7 =", "(3+4)*2", "17 - 4", "/hlep", "claw memory serch x"])
def test_what_is_typed_for_a_program_tells_nothing(text: str) -> None:
    assert only_asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "Since I'm allergic to penicillin, can I take amoxicillin?",
        "Can you believe Tom got the job at Siemens?",
        "Isn't it great that Lena is pregnant?",
        "Could you note that the car is due on 3 May?",
        "Did I tell you that Ana moved to Rome?",
        "Have I mentioned that Paul is a vet?",
        "Do you remember that I park on level 4?",
        "I got a Fairphone 5. Does it need a case?",
        "I was born in 1980. How old am I?",
        "Ana moved to Rome, right?",
        "My sister Kate got married today, isn't that lovely?",
        "I told you my blood type is O negative, didn't I?",
        "Weißt du, dass Lukas jetzt in Köln wohnt?",
        "Ich bin Diabetiker, darf ich Honig essen?",
        "Je suis diabétique, puis-je manger du miel ?",
        "Sabes que Marta se casó con Luis?",
        "Soy celíaco, ¿puedo comer pan?",
        "Sono celiaca, posso mangiare il pane?",
        "Sou celíaco, posso comer pão?",
        "Savais-tu que Marie est enceinte ?",
        "Selim abiye borcumu kapattım, başka kime borcum var?",
        "Вернула Лене пять тысяч, кому я ещё должна?",
        "Я купила билеты на 5 июня, когда у Маши каникулы?",
        "수빈언니한테 2만원 갚았는데 또 누구한테 빌렸지?",
        "나 오늘 치과 갔다왔어, 다음 예약 언제야?",
        "我把五百还给老张了，我还欠谁钱？",
        "昨日歯医者に行った、次はいつ？",
        "Oddałam Pawłowi 1200, kto mi jeszcze wisi?",
        "Катя вернула 5 тысяч, а кто мне ещё должен?",
        "кто-то позвонил вчера",
        "我忘记带钥匙了",
    ],
)
def test_a_question_may_tell_something(text: str) -> None:
    assert not only_asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "Where do I live?",
        "Mum, where is the key?",
        "When is the meeting with Ana, and where?",
        "Do you know the alarm code?",
        "Can you remember my birthday?",
        "Who is Ana? Where does she live?",
        "¿Dónde vivo?",
        "Où habite Marie ?",
        "What did I tell you today?",
        "Kemal Bey geldi mi, gelmedi mi?",
        "Маша, сколько ей лет?",
        "他走了吗，还是没走？",
        "кто мне должен денег",
        "谁欠我钱",
        "kasanın anahtarı nerede",
        "우리 교수님 이메일이 뭐였지",
        "забудь про карту и про Лену",
        "忘掉我说的关于小李的事",
        "도현이에 대해 말한 거 잊어줘",
        "Hüseyin hakkında söylediklerimi unut",
    ],
)
def test_what_only_asks_tells_nothing(text: str) -> None:
    assert only_asks(text)


@pytest.mark.parametrize("text", ["4471", "+49 151 2233", "2026-10-22", "12/05/2026", "10.20"])
def test_a_number_a_day_and_a_telephone_number_are_no_sums(text: str) -> None:
    assert not is_sum(text)
    assert not only_asks(text)


@pytest.mark.parametrize(
    ("text", "is_order"),
    [
        ("Can you shorten my CV summary to two lines", True),
        ("bitte formulier: die härte unterschreitet den wert", True),
        ("empfiehl mir ein hörbuch, nix mit leichen", True),
        ("Can you remember that I am allergic to nuts", False),
        ("Please note that the code is 4471", False),
        ("Writing is what I like most", False),
        ("I wrote to Meg about it", False),
    ],
)
def test_an_order_to_do_something_is_told_from_what_is_to_be_kept(
    text: str, is_order: bool
) -> None:
    assert wants_done(text) is is_order


@pytest.mark.parametrize(
    "text",
    [
        "I no longer take the bus",
        "Wir haben kein Auto mehr",
        "La cita se ha aplazado, ahora es el lunes",
        "Nous avons emménagé à Lyon",
        "La riunione è stata spostata",
        "A consulta foi adiada",
        "We zijn verhuisd naar Utrecht",
        "Теперь я живу в Праге",
        "Yeni evimiz Ankara'da",
        "これからは電車で行く",
        "不再喝咖啡",
        "이제 서울에 살아",
        "Filiz hanım Beloc'u kesti, Coversyl başladım",
        "Elif'in dersi perşembeye ertelendi",
        "доктор подняла эутирокс до 75",
        "остаёмся на Удальцова",
        "약을 75mcg로 올렸어",
        "면접이 미뤄졌어",
        "我们把车卖了",
        "医生让我停药",
        "先週引っ越した",
    ],
)
def test_a_change_is_told_by_its_words(text: str) -> None:
    assert says_change(text)
    assert not says_cancelled(text)


@pytest.mark.parametrize(
    "text", ["The lesson is off", "Der Kurs fällt am Freitag aus", "会議は中止"]
)
def test_what_does_not_take_place_has_changed_too(text: str) -> None:
    assert says_cancelled(text)
    assert says_change(text)


@pytest.mark.parametrize("text", ["I know Newton", "Die Nudeln sind gar", "Il arrive en novembre"])
def test_a_part_of_a_word_is_no_cue(text: str) -> None:
    assert not says_change(text)


@pytest.mark.parametrize(
    "text",
    [
        "I've moved to Leeds",
        "Wir sind am 22.10. umgezogen",
        "J'habite à Lyon",
        "Mi sono trasferita",
    ],
)
def test_where_somebody_lives_is_told_in_many_words(text: str) -> None:
    assert tells_home(text)


def test_a_question_about_the_past_has_a_word_for_it() -> None:
    assert is_about_past("Where did I live before?")
    assert is_about_past("Wo habe ich früher gewohnt?")
    assert not is_about_past("Where do I live?")
