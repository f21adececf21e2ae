# ruff: noqa: RUF001 - letters and marks of Cyrillic, Chinese and Japanese are meant.
"""What is told to a Being and what it tells: the official client, with vectors, on either store."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from mcp import Client

from clawkit.memory.being_store import BeingStore
from clawkit.memory.records import moment
from clawkit.store.database import Database
from tests.memory.http.being_store import Clock
from tests.memory.http.served_beings import Served, served
from tests.memory.patrol.test_topics import LIFE
from tests.together.test_being_clients import connected, said

DAY = 86_400.0
NUTS = "My wife Sara is allergic to nuts."
TOLD = {
    NUTS: "What is Sara allergic to?",
    "The choir sings in the old mill.": "Where does the choir sing?",
    "No coffee after four, the doctor says.": "What does the doctor say about coffee?",
    "btw the wifi in the barn only works near the window": "Where in the barn does the wifi work?",
}
LONG = (
    "Our street has changed a lot since we came here nineteen years ago. "
    "The bakery on the corner became a shop for bicycles, which Leo runs. "
    "Opposite the school there is a dentist called Marta Quist now, who came from Aarhus."
)
LANGUAGES = {
    "Unser Kater heißt Mogli und ist vierzehn Jahre alt.": "Wie heißt unser Kater?",
    "Trabajo de enfermera en el hospital de Burgos.": "¿Dónde trabajo?",
    "Ma fille Léa joue du violoncelle.": "De quel instrument joue ma fille ?",
    "Mio fratello Paolo abita a Trieste con due cani.": "Dove abita mio fratello?",
    "A minha avó nasceu em Coimbra.": "Onde nasceu a minha avó?",
    "De naaimachine van oma staat op zolder.": "Waar staat de naaimachine?",
    "Моя сестра Ольга учит китайский язык.": "Какой язык учит моя сестра?",
    "Kızım Elif fıstığa alerjik.": "Kızımın neye alerjisi var?",
    "私の母は京都に住んでいます。": "母はどこに住んでいますか？",
    "我妻子对海鲜过敏。": "我妻子对什么过敏？",
    "제 아들은 부산에서 대학교에 다닙니다.": "제 아들은 어디에서 대학교에 다니나요?",
    "My brother Tom repairs clocks in Bath.": "What does my brother repair?",
}
ASKED_TO_KEEP = {
    "Remember: the spare key is under the blue pot.": "Where is the spare key?",
    "Merk dir: Frau Albers gießt die Blumen.": "Wer gießt die Blumen?",
    "Recuerda: la reunión de padres es en el aula 4.": "¿Dónde es la reunión de padres?",
    "Запомни: лодка стоит у соседа Виктора.": "У кого стоит лодка?",
    "覚えておいて：猫の名前はタマです。": "猫の名前は何ですか？",
    "记住：雨伞在车里。": "雨伞在哪里？",
}
FRIDAYS = (
    "I met Ana at the harbour on Friday.",
    "Ich habe Bodo am Freitag getroffen.",
    "Vi a Clara el viernes.",
    "J'ai vu Denise vendredi.",
    "Ho incontrato Enzo venerdì.",
    "Encontrei a Filipa na sexta-feira.",
    "Ik heb Geert vrijdag ontmoet.",
    "Я встретил Ольгу в пятницу.",
    "Hakan ile cuma günü buluştum.",
    "金曜日に健太に会った。",
    "我星期五见了李雷。",
    "금요일에 민수를 만났다.",
)
YESTERDAYS = {
    "Der Rauchmelder im Flur wurde getauscht.": "Was war gestern?",
    "Se rompió la lavadora del sótano.": "¿Qué pasó ayer?",
    "Le facteur a apporté un colis.": "Que s'est-il passé hier ?",
    "Il vicino ha tagliato la siepe.": "Cosa è successo ieri?",
    "The chimney was swept.": "What happened yesterday?",
}
FACTS = (
    "I live in Whitby, in the house above the harbour.",
    "I work as a bookkeeper for the lifeboat station.",
    "My husband is called Piotr.",
    "I am allergic to penicillin.",
)


@pytest.fixture
def server(database: Database, clock: Clock) -> Iterator[Served]:
    """With the built-in embedder, on Monday, 16 November 2026."""
    clock.now = moment("2026-11-16T12:00:00")
    with served(BeingStore(database, clock=clock)) as found:
        yield found


def client_of(server: Served, person: str = "") -> AbstractAsyncContextManager[Client]:
    return connected(server.url + server.path, server.token(person=person), "auto")


async def tell(client: Client, *texts: str) -> None:
    """Say these, one message each; a patrol goes over all of it, also where nothing is said."""
    messages = [{"role": "user", "content": text} for text in texts]
    assert json.loads(await said(client, "trigger_patrol", messages=messages))["status"] == "ok"


async def update(client: Client, **arguments: Any) -> dict[str, Any]:
    return json.loads(await said(client, "update_notes", action="update", **arguments))


async def recalled(client: Client, asked: str, **more: Any) -> str:
    return await said(client, "recall", user_message=asked, **more)


async def found(client: Client, asked: str, **more: Any) -> list[str]:
    """The lines of a search, the best first."""
    header, *lines = (await said(client, "search_memory", query=asked, **more)).splitlines()
    assert not lines or "keyword" not in header
    return lines


async def id_of(client: Client, asked: str) -> str:
    """The id of the memory that fits best."""
    return (await found(client, asked))[0].rsplit("id: ", 1)[1].rstrip(")")


async def missing(client: Client, told: dict[str, str]) -> list[str]:
    """What is not the first that its question finds, or is not told to it."""
    return [
        text
        for text, asked in told.items()
        if text not in (await found(client, asked))[0] or text not in await recalled(client, asked)
    ]


async def test_each_message_is_found_at_once_and_for_years(server: Served, clock: Clock) -> None:
    async with client_of(server) as client:
        for text, asked in TOLD.items():
            clock.now += DAY
            await tell(client, text)
            assert await missing(client, {text: asked}) == []
        for _ in range(12):
            clock.now += 90 * DAY
            await tell(client)
        assert await missing(client, TOLD) == []


async def test_a_long_message_is_kept_whole(server: Served) -> None:
    async with client_of(server) as client:
        await tell(client, LONG)
        for sentence in re.split(r"(?<=\.) ", LONG):
            assert sentence in (await found(client, sentence))[0]


async def test_a_sentence_without_i_is_kept_with_the_one_before_it(server: Served) -> None:
    async with client_of(server, "Piotr") as client:
        await tell(client, "Dr Shah rang about the thyroid.", "It goes up to 100 micrograms.")
        told = await recalled(client, "How much of the thyroid medicine do I take?")
    whole = "(Dr Shah rang about the thyroid.) It goes up to 100 micrograms."
    assert f"2026-11-16, Piotr: {whole}" in told


@pytest.mark.parametrize("told", [LANGUAGES, ASKED_TO_KEEP], ids=["facts", "asked to keep"])
async def test_any_language_is_found(server: Served, clock: Clock, told: dict[str, str]) -> None:
    async with client_of(server) as client:
        for text in told:
            clock.now += DAY
            await tell(client, text)
        assert await missing(client, told) == []
        await tell(client)
        assert await missing(client, told) == []


async def test_each_fragment_says_day_and_person(server: Served, clock: Clock) -> None:
    async with client_of(server, "Piotr") as piotr, client_of(server, "Sara Lind") as sara:
        await tell(piotr, "I paid the plumber 80 euros for the tap.")
        clock.now += DAY
        await tell(sara, "I paid the plumber 120 euros for the shower.")
        clock.now += DAY
        await tell(piotr, "The plumber wants 40 euros more for the tap.")
        block = await recalled(sara, "How many euros does the plumber get?")
    heads = {fragment.split(": ")[0] for fragment in re.split(" / | · ", block.splitlines()[1])}
    assert heads == {"2026-11-16, Piotr", "2026-11-17, Sara Lind", "2026-11-18, Piotr"}


async def test_the_users_own_name_given_once_is_the_user(server: Served, clock: Clock) -> None:
    ruth, mine = "My neighbour Ruth is allergic to cats.", "I am allergic to penicillin."
    async with client_of(server) as client:
        for text in ("Hello, I'm Margaret Holloway.", ruth, mine):
            await tell(client, text)
            clock.now += DAY
        for asked in ("What am I allergic to?", "What is Margaret allergic to?"):
            assert mine in (await found(client, asked))[0]
            assert f"2026-11-18, Margaret Holloway: {mine}" in await recalled(client, asked)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Mehmet Yıldız", "Merhaba, ben Mehmet Yıldız."),
        ("김서연", "안녕, 나는 김서연이야."),
        ("Анна Петрова", "Привет! Я Анна Петрова."),
    ],
)
async def test_a_name_given_in_other_languages_is_the_user(
    server: Served, name: str, told: str
) -> None:
    async with client_of(server) as client:
        await tell(client, told)
        await tell(client, "I am allergic to penicillin.")
        told = await recalled(client, "What am I allergic to?")
    assert told.splitlines()[1].startswith(f"2026-11-16, {name}: ")


async def test_the_i_of_one_person_is_not_that_of_another(server: Served) -> None:
    asked = "When is my dentist appointment?"
    async with client_of(server, "Ben Whitaker") as ben, client_of(server, "Anna Lopes") as anna:
        await tell(ben, "My dentist appointment is on 3 May at nine.")
        await tell(anna, "My dentist appointment is on 9 June at four.")
        assert "3 May" in (await found(ben, asked))[0]
        assert "9 June" in (await found(anna, asked))[0]
        assert "3 May" in (await found(anna, "When is Ben's dentist appointment?"))[0]
        assert "Ben Whitaker: My dentist appointment is on 3 May" in await recalled(anna, asked)


async def test_what_only_looks_alike_is_told(server: Served) -> None:
    async with client_of(server) as client:
        await tell(client, "Ben lent Anna 50 euros", "It rained.", "Anna lent Ben 50 euros")
        for _ in range(2):
            told = await recalled(client, "Who lent whom 50 euros?")
            assert "Ben lent Anna 50 euros" in told
            assert "Anna lent Ben 50 euros" in told
            await tell(client)


async def test_a_corrected_memory_is_told_only_as_of_then(server: Served, clock: Clock) -> None:
    asked = "Where do I live?"
    async with client_of(server) as client:
        await tell(client, "I live in Leeds.")
        old = await id_of(client, asked)
        clock.now += 40 * DAY
        scene = {"action": "I live in York.", "actors": ["user"], "when": ["2026-12-26"]}
        answer = await update(client, scene_ids=[old], scenes=[scene])
        new = await id_of(client, asked)
        assert answer["corrected"] == [{"old": old, "new": new, "was": "I live in Leeds."}]
        for _ in range(2):
            told = await recalled(client, asked)
            assert "I live in York." in told
            assert "Leeds" not in told
            await tell(client)
        assert "I live in Leeds." in await recalled(client, asked, as_of="2026-11-20")


async def test_what_is_replaced_by_nothing_is_forgotten(server: Served, clock: Clock) -> None:
    nobody = "00000000-0000-4000-8000-000000000000"
    asked = "Which number has my locker?"
    async with client_of(server) as client:
        await tell(client, "My locker is number 12.")
        clock.now += DAY
        await tell(client, NUTS)
        old = await id_of(client, asked)
        answer = await update(client, scene_ids=[old, nobody], notes=[])
        assert (answer["forgotten"], answer["not_found"]) == ([old], [nobody])
        for _ in range(2):
            assert "locker" not in await recalled(client, asked)
            assert "locker" not in "".join(await found(client, asked))
            await tell(client)
        assert NUTS in await recalled(client, "What is Sara allergic to?")


async def test_without_a_model_old_and_new_are_told_dated(server: Served, clock: Clock) -> None:
    async with client_of(server, "Piotr") as client:
        await tell(client, "My dentist is Dr Low.")
        clock.now += 40 * DAY
        await tell(client, "My dentist is Dr Patel now.")
        told = await recalled(client, "Who is my dentist?")
    assert "2026-11-16 (earlier), Piotr: My dentist is Dr Low." in told
    assert "2026-12-26, Piotr: My dentist is Dr Patel now." in told


async def test_a_day_of_the_week_is_the_one_that_was_meant(server: Served) -> None:
    async with client_of(server) as client:
        await tell(client, "I met Ana on Friday.", "I meet Olga on Friday.")
        assert "I met Ana on Friday (2026-11-13)" in await recalled(client, "When did I meet Ana?")
        assert "I meet Olga on Friday (2026-11-20)" in await recalled(client, "When is Olga here?")


async def test_a_day_is_the_one_that_was_meant_in_every_language(server: Served) -> None:
    async with client_of(server) as client:
        await tell(client, *FRIDAYS)
        for told in FRIDAYS:
            assert "2026-11-13" in (await found(client, told))[0].split(" — ")[0]


@pytest.mark.parametrize(("told", "asked"), YESTERDAYS.items(), ids=YESTERDAYS.values())
async def test_yesterday_is_the_day_before_the_question(
    server: Served, clock: Clock, told: str, asked: str
) -> None:
    async with client_of(server) as client:
        for text in (FRIDAYS[0], told, "My locker is number 12."):
            await tell(client, text)
            clock.now += DAY
        clock.now -= DAY
        assert told in (await found(client, asked))[0]


async def test_last_wednesday_is_the_one_before_the_question(server: Served, clock: Clock) -> None:
    asked = "What happened last Wednesday?"
    async with client_of(server) as client:
        await tell(client, "The piano was tuned on Tuesday.", "The fence fell over on Thursday.")
        await tell(client, "The boiler was repaired on Wednesday.")
        assert "boiler" in (await found(client, asked))[0]
        clock.now += 7 * DAY
        await tell(client, "The vet looked at Ned's paw on Wednesday.")
        assert "2026-11-18" in (await found(client, asked))[0]
        assert "The vet looked at Ned's paw" in await recalled(client, asked)


async def test_the_snapshot_knows_the_user_and_the_prompt_stays(
    server: Served, clock: Clock
) -> None:
    async with client_of(server) as client:
        before = json.loads(await said(client, "get_context"))
        await tell(client, "Hello, I'm Margaret Holloway.", *LIFE, *FACTS)
        clock.now += 2 * DAY
        after = json.loads(await said(client, "get_context"))
    known = ("I'm Margaret Holloway", *FACTS)
    assert [fact for fact in known if fact not in after["snapshot"]] == []
    assert [fact for fact in known if fact in before["snapshot"]] == []
    assert after["system_prompt"] == before["system_prompt"]


async def test_two_people_who_say_the_same_are_two(server: Served, clock: Clock) -> None:
    async with client_of(server, "Ben Whitaker") as ben, client_of(server, "Anna Lopes") as anna:
        await tell(ben, "I am allergic to nuts.")
        clock.now += DAY
        await tell(anna, "I am allergic to nuts.")
        assert "Anna Lopes: I am allergic to nuts." in await recalled(
            anna, "What is Anna allergic to?"
        )


async def test_who_moves_back_is_heard(server: Served, clock: Clock) -> None:
    async with client_of(server) as client:
        await tell(client, "I live in Leeds.")
        old = await id_of(client, "Where do I live?")
        clock.now += 40 * DAY
        await update(
            client,
            scene_ids=[old],
            scenes=[{"action": "I live in York.", "actors": ["user"], "when": ["2026-12-26"]}],
        )
        clock.now += 40 * DAY
        await tell(client, "I live in Leeds.")
        assert "2027-02-04: I live in Leeds." in await recalled(client, "Where do I live?")


async def test_the_same_words_in_another_week_are_kept(server: Served, clock: Clock) -> None:
    async with client_of(server) as client:
        await tell(client, "I met Ana on Friday.")
        clock.now += 14 * DAY
        await tell(client, "I met Ana on Friday.")
        assert "2026-11-27" in await recalled(client, "When did I meet Ana?")


async def test_what_is_forgotten_is_not_told_around_its_neighbour(server: Served) -> None:
    async with client_of(server) as client:
        await tell(client, "My locker is number 12.", "It rained all morning.")
        await update(client, scene_ids=[await id_of(client, "my locker number")], notes=[])
        assert "locker" not in await recalled(client, "Did it rain this morning?")


async def test_what_is_corrected_is_not_told_around_its_neighbour(server: Served) -> None:
    async with client_of(server) as client:
        await tell(client, "I live in Leeds.", "It rained all morning.")
        scene = {"action": "I live in York.", "actors": ["user"], "when": ["2026-11-16"]}
        await update(client, scene_ids=[await id_of(client, "I live in Leeds")], scenes=[scene])
        assert "Leeds" not in await recalled(client, "Did it rain this morning?")


async def test_what_ben_said_before_is_not_in_annas_words(server: Served, clock: Clock) -> None:
    async with client_of(server, "Ben Whitaker") as ben, client_of(server, "Anna Lopes") as anna:
        await tell(ben, "I am allergic to penicillin.")
        clock.now += 600
        await tell(anna, "It rained all morning.")
        assert "penicillin" not in await recalled(anna, "Did it rain this morning?")


async def test_annas_own_comes_first_for_her(server: Served, clock: Clock) -> None:
    async with client_of(server, "Ben Whitaker") as ben, client_of(server, "Anna Lopes") as anna:
        await tell(ben, "I park my bike in the cellar.")
        clock.now += DAY
        await tell(anna, "I park my bike behind the library.")
        assert "library" in (await found(anna, "Where do I park my bike?"))[0]


async def test_a_title_is_no_name(server: Served, clock: Clock) -> None:
    async with client_of(server) as client:
        await tell(client, "I'm Product Manager at Acme.")
        clock.now += DAY
        await tell(client, "My name is Margaret Holloway.")
        clock.now += DAY
        await tell(client, "I am allergic to penicillin.")
        assert "Margaret Holloway: I am allergic" in await recalled(
            client, "What is Margaret Holloway allergic to?"
        )


@pytest.mark.parametrize(
    ("intro", "name"),
    [
        ("Меня зовут Ольга Петрова.", "Ольга Петрова"),
        ("Adım Elif Demir.", "Elif Demir"),
        ("我叫李明。", "李明"),
        ("제 이름은 김민수입니다.", "김민수"),
        ("Hello, I'm Piotr, 34, from Gdansk.", "Piotr"),
    ],
)
async def test_people_introduce_themselves_in_many_languages(
    server: Served, clock: Clock, intro: str, name: str
) -> None:
    async with client_of(server) as client:
        await tell(client, intro)
        clock.now += DAY
        await tell(client, "I am allergic to penicillin.")
        assert f"{name}: I am" in await recalled(client, "What am I allergic to?")


async def test_what_was_said_today_is_not_ahead(server: Served) -> None:
    async with client_of(server) as client:
        for n in range(12):
            await tell(client, f"Today I sorted box {n} of the archive.")
        await tell(client, "My operation is on 2 December.")
        snapshot = json.loads(await said(client, "get_context"))["snapshot"]
        assert "My operation is on 2 December" in snapshot.split("### Ahead")[1]


async def test_clients_may_call_people_user_in_any_case(server: Served) -> None:
    async with client_of(server) as client:
        await said(
            client,
            "trigger_patrol",
            messages=[{"role": "User", "content": "My locker is number 12."}],
        )
        assert await found(client, "my locker number")


async def test_what_was_said_before_has_its_days_too(server: Served, clock: Clock) -> None:
    async with client_of(server) as client:
        await tell(client, "I met Ana on Friday.", "She has a new dog.")
        clock.now += 300 * DAY
        assert "(I met Ana on Friday (2026-11-13).)" in await recalled(client, "Who has a new dog?")


CHANGED = {
    "Tansiyon için sabahları Beloc içiyorum.": (
        "Doktor tansiyon ilacım Beloc'u kesti, sabahları Coversyl içiyorum.",
        "Tansiyon için hangi ilacı içiyorum?",
    ),
    "Танцы у Маши по вторникам в пять.": (
        "Танцы у Маши перенесли на среду в пять.",
        "Когда у Маши танцы?",
    ),
    "我每天早上吃氨氯地平降血压。": (
        "医生让我停了氨氯地平，早上吃缬沙坦降血压。",
        "我吃什么降血压？",
    ),
    "재무관리 시험은 B103에서 봐.": (
        "재무관리 시험 장소가 B201로 변경됐어.",
        "재무관리 시험은 어디서 봐?",
    ),
}


async def test_what_has_changed_is_told_first_in_each_language(
    server: Served, clock: Clock
) -> None:
    async with client_of(server) as client:
        for before, (after, _) in CHANGED.items():
            await tell(client, before)
            clock.now += DAY
            await tell(client, after)
            clock.now += DAY
        for before, (after, asked) in CHANGED.items():
            told = await recalled(client, asked)
            assert after in told
            assert f"(earlier): {before}" in told


async def test_what_is_told_with_a_question_is_told_again_and_an_order_to_forget_is_not(
    server: Served,
) -> None:
    told = {
        "Вернула Лене пять тысяч, кому я ещё должна?": "Сколько я вернула Лене?",
        "Selim abiye borcumu kapattım, başka kime borcum var?": "Selim abiye borcum ne oldu?",
        "我把五百还给老张了，我还欠谁钱？": "我还给老张多少钱？",
    }
    async with client_of(server) as client:
        await tell(client, *told, "забудь про мой долг Лене", "忘掉我说的关于老张的事")
        for text, asked in told.items():
            block = await recalled(client, asked)
            assert text in block
            assert ": забудь" not in block
            assert ": 忘掉" not in block
