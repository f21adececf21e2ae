from __future__ import annotations

import pytest

from clawkit.text.remarks import is_thanks, to_forget


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
        ("Забудь, что я сказал о Маше", "Маше"),  # noqa: RUF001 - Russian
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
    ],
)
def test_an_order_to_forget_names_something(order: str, named: str) -> None:
    assert to_forget(order) == named


@pytest.mark.parametrize(
    "said",
    [
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
    ):
        assert is_thanks(said)
    for said in ("Thanks for the flowers from Anna", "Thanksgiving is on Thursday"):
        assert not is_thanks(said)
