# ruff: noqa: RUF001 - letters of Cyrillic and Turkish that look like others are meant.

from __future__ import annotations

import pytest

from clawkit.text.remarks import is_thanks, to_forget, told_beside_orders


@pytest.mark.parametrize(
    ("order", "named"),
    [
        ("Forget what I said about Aberdovey", "Aberdovey"),
        ("Apaga o meu número de telemóvel.", "o meu número de telemóvel"),
        ("Esquece o que eu disse sobre a Sofia.", "a Sofia"),
        ("Lösche meine Adresse.", "meine Adresse"),
        ("Vergiss, dass ich im Juli nach Wien fahre.", "ich im Juli nach Wien fahre"),
        ("Vergiss, was ich über Anna gesagt habe.", "Anna"),
        ("Olvida lo que dije sobre Ana", "Ana"),
        ("Oublie ce que j'ai dit sur Paul.", "Paul"),
        ("Dimentica quello che ho detto su Marco", "Marco"),
        ("Vergeet wat ik over Jan gezegd heb", "Jan"),
        ("Забудь, что я сказал о Маше", "Маше"),
        ("adresimi unut", "adresimi"),
        ("住所を忘れてください", "住所"),
        ("忘记我的地址", "我的地址"),
        ("내 주소를 잊어줘", "내 주소"),
        ("forget everything", "everything"),
        ("Forget everything, thanks", "everything"),
        ("Forget my address, please", "my address"),
        ("Forget my address, 5 High Street", "my address, 5 High Street"),
        ("Forget what I said about Anna, Ben and Carl", "Anna, Ben and Carl"),
        ("Forget about Anna, who lives in Bonn", "Anna, who lives in Bonn"),
        ("Forget it", ""),
        ("Forget it, please", ""),
        ("Vergiss es!", ""),
        ("Oh dear, forget what I told you about Ripon.", "Ripon"),
        ("I'd like you to forget the surprise party for Gwen.", "the surprise party for Gwen"),
        ("Could you forget about my accountant Lionel Frith please?", "my accountant Lionel Frith"),
        ("Kannst du bitte meinen Zahnarzt vergessen?", "meinen Zahnarzt"),
        ("Ich möchte, dass du meine Adresse vergisst.", "meine Adresse"),
        ("Peux-tu oublier mon adresse ?", "mon adresse"),
        ("Vergiss, was ich dir über Anna erzählt habe", "Anna"),
        ("Dimentica quello che ho detto di Ettore", "Ettore"),
        ("Vergeet wat ik over Joris zei", "Joris"),
        ("Selma hakkında söylediklerimi unut", "Selma"),
        ("忘记我说的王医生的事", "王医生"),
        ("田中さんについて言ったことを忘れて", "田中"),
        ("수진이에 대해 말한 것을 잊어 줘", "수진"),
        ("забудь, что я говорила про Лену", "Лену"),
        ("забудь историю с Леной", "Леной"),
        ("адрес забудь пожалуйста", "адрес"),
        ("도현이 얘기 지워줘", "도현"),
        ("도현이랑 있었던 일 다 잊어줘", "도현"),
        ("把老张的事忘了吧", "老张"),
        ("请把我的地址删掉", "我的地址"),
    ],
)
def test_an_order_to_forget_names_something(order: str, named: str) -> None:
    assert to_forget(order) == named


@pytest.mark.parametrize(
    ("order", "named", "told"),
    [
        ("Forget what I said about the safe, strangers read this.", "the safe", ""),
        ("Forget about the safe because strangers read this", "the safe", ""),
        ("Forget what I said about Harold's medals, he'd be cross.", "Harold's medals", ""),
        (
            "Please forget that Jean lent me her ladder, it isn't true.",
            "Jean lent me her ladder",
            "",
        ),
        ("Vergiss das mit Thorben, das stimmt nicht.", "Thorben", ""),
        ("Olvida lo de Ana, no es verdad", "Ana", ""),
        ("No, forget the thing with Bob, that was wrong", "Bob", ""),
        (
            "Vergiss meinen Zahnarzt, ich habe einen neuen.",
            "meinen Zahnarzt",
            "ich habe einen neuen.",
        ),
        ("Forget my dentist, he moved to Leeds", "my dentist", "he moved to Leeds"),
        ("Forget what I said about Anna, she moved to Bonn.", "Anna", "she moved to Bonn."),
        ("Forget the safe because Anna sold it", "the safe", "Anna sold it"),
        ("esquece o que disse sobre o Saint-Saëns, desisti", "o Saint-Saëns", "desisti"),
        ("Olvida lo que dije sobre Ana, cancelé", "Ana", "cancelé"),
    ],
)
def test_why_something_is_to_be_forgotten_is_no_part_of_its_name(
    order: str, named: str, told: str
) -> None:
    assert to_forget(order) == named
    first, *rest = told_beside_orders(order)
    assert to_forget(first) == named
    assert rest == ([told] if told else [])


@pytest.mark.parametrize(
    "said",
    [
        "I'd like to forget the accident",
        "How could you forget my birthday?",
        "Hast du meinen Namen vergessen?",
        "Kannst du die Milch nicht vergessen?",
        "Dimentica di chiamare Anna",
        "I'll never forget Rome",
        "Never forget my birthday",
        "We forget our keys, because we are old",
        "I said forget the milk",
        "Don't forget the milk",
        "Vergiss nicht, Milch zu kaufen",
        "Forget-me-nots are in bloom",
        "I forgot my keys",
        "Je n'oublie pas Paul",
        "Forget to call Bob and he is cross",
        "Wisdom teeth hurt",
        "Forget it, the boat is not sold after all",
        "Forget the milk, buy bread instead",
        "Forget that I like tea, I prefer coffee",
        "Please forget that, I was wrong",
        "Forget about Anna but keep Ben",
        "Forget about the boat: it is not sold",
        "Vergiss die Milch, kauf Brot",
        "Vergiss das Boot, Anna hat es verkauft",
        "Olvida eso, mañana no trabajo",
        "Oublie ça, on part demain",
        "Never mind",
        "хлеб не забудь",
        "把钥匙忘了",
        "我把照片删了",
    ],
)
def test_what_only_looks_like_it_is_no_such_order(said: str) -> None:
    assert to_forget(said) is None


def test_thanks_are_told_from_what_one_is_thankful_for() -> None:
    for said in (
        "Obrigada!",
        "Thanks love",
        "Danke schön!",
        "谢谢!",
        "Merci beaucoup",
        "ok thanks",
        "большое спасибо",
        "çok teşekkürler",
        "고맙습니다",
        "Dzięki!",
        "Tack så mycket",
    ):
        assert is_thanks(said)
    for said in ("Thanks for the flowers from Anna", "Thanksgiving is on Thursday"):
        assert not is_thanks(said)
