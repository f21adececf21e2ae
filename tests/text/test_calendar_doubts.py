# ruff: noqa: RUF001 - letters of Cyrillic and Turkish that look like others are meant.
"""Days that may be one of two: which of them is written behind its words, and where none is."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from clawkit.text.calendar.named_days import resolved

WEDNESDAY = date(2026, 11, 18)
TODAY = "2026-11-18"

STRANGERS = [
    ("2026-08-25", "Booked train tickets for London, 16 September.", "2026-09-16"),
    ("2026-10-13", "hausarzt Dr. Hesse hat krank geschrieben bis 20.11.", "2026-11-20"),
    ("2026-11-06", "hab frau vogt zugesagt: ab 1. dezember 32 stunden", "2026-12-01"),
    ("2026-08-14", "Friday finally. Off to the pub.", "2026-08-14"),
    ("2026-08-24", "montag, alarm um 4 uhr, diesmal echt. abgeschaltet", "2026-08-24"),
    ("2026-09-13", "sonntag, kirmes, ole hat mir 30 euro abgeluchst", "2026-09-13"),
    ("2026-09-30", "that's more trust in nine days than in four years", None),
    ("2026-10-09", "Last night at Cardigan Road. I lived here six years.", None),
    ("2026-11-11", "elektriker für die wallbox ist firma Rudolph, kommt am 24.", "2026-11-24"),
    ("2026-11-13", "kirsten reist am 18. abends an, hotel Schweizer Hof", "2026-11-18"),
    ("2026-09-19", "silke hat geburtstag am 27., brauche ein geschenk", "2026-09-27"),
    (
        "2026-11-04",
        "Team meeting: we agreed on it, the hotel is ours from 8 February",
        "2027-02-08",
    ),
    ("2026-09-10", "La empresa ha retrasado la obra del tejado al 28 de septiembre", "2026-09-28"),
    ("2026-08-07", "Mia brach sich am 6. August das Handgelenk", None),
    ("2026-09-16", "The boiler should stand at 1.4 bar", None),
]

YEARS = {
    "en": [
        ("They confirmed my start date, 1 February.", "2027-02-01"),
        ("Got an invitation to the ball on 6 March.", "2027-03-06"),
        ("Got my results back today: due for a check-up on 2 March", "2027-03-02"),
        ("We signed the lease, it begins on 15 January.", "2027-01-15"),
        ("Paid for the concert on 30 January", "2027-01-30"),
        ("She bought a car, which she collects on 7 December", "2026-12-07"),
        ("I was ill until 20 October", "2026-10-20"),
        ("They've moved my eye, it's now Wednesday the 16th of December", "2026-12-16"),
        ("I had an appointment on 22 October", "2026-10-22"),
        ("I started here on 1 September.", "2026-09-01"),
        ("we met on 3 May", "2026-05-03"),
    ],
    "de": [
        ("Urlaub ab 14. Februar genehmigt bekommen", "2027-02-14"),
        ("Bin bis 20.1. krankgeschrieben worden.", "2027-01-20"),
        ("Wir haben es jetzt festgelegt: 13. Februar, Samstag", "2027-02-13"),
        ("Hab Kartons geliehen, zurück bis 15. Dezember", "2026-12-15"),
        ("Ich war bis zum 20. Oktober krank", "2026-10-20"),
        ("Am 1. September habe ich angefangen", "2026-09-01"),
    ],
    "es": [
        ("He comprado billetes para Londres, 16 de febrero", "2027-02-16"),
        ("Recibí la invitación al baile del 6 de marzo", "2027-03-06"),
        ("estuve enfermo hasta el 20 de octubre", "2026-10-20"),
        ("desde el 1 de diciembre hay otro horario", "2026-12-01"),
    ],
    "fr": [
        ("La fête a été repoussée au 8 janvier", "2027-01-08"),
        ("Ils ont confirmé la date, le 1er février", "2027-02-01"),
        ("J'ai reçu l'invitation au bal du 6 mars", "2027-03-06"),
        ("J'étais malade jusqu'au 20 octobre", "2026-10-20"),
    ],
    "it": [
        ("hanno confermato la data, il 1 febbraio", "2027-02-01"),
        ("Ho ricevuto l'invito al ballo del 6 marzo", "2027-03-06"),
        ("La visita è stata rinviata al 10 gennaio", "2027-01-10"),
        ("sono in ferie dal 20 dicembre", "2026-12-20"),
    ],
    "pt": [
        ("confirmaram a data, 1 de fevereiro", "2027-02-01"),
        ("Recebi o convite do baile de 6 de março", "2027-03-06"),
        ("estive doente até 20 de outubro", "2026-10-20"),
    ],
    "nl": [
        ("Ik heb treinkaartjes gekocht, 16 februari", "2027-02-16"),
        ("Ik heb verlof gekregen vanaf 14 februari", "2027-02-14"),
        ("we hebben geboekt, we vliegen op 21 december, maandagochtend", "2026-12-21"),
        ("ik was ziek tot 20 oktober", "2026-10-20"),
    ],
    "ru": [
        ("Купил билеты на 16 февраля", "2027-02-16"),
        ("подтвердили дату, 1 февраля", "2027-02-01"),
        ("больничный продлили до 20 января", "2027-01-20"),
        ("с 1 декабря у меня новый график", "2026-12-01"),
        ("с 1 октября у меня новый график", "2026-10-01"),
    ],
    "tr": [
        ("16 Şubat için bilet aldım", "2027-02-16"),
        ("20 Ocak'a kadar rapor aldım", "2027-01-20"),
    ],
    "ja": [
        ("切符を予約した、2月16日", "2027-02-16"),
        ("3月6日の舞踏会に招待された。", "2027-03-06"),
    ],
    "zh": [
        ("我订了2月16日的火车票", "2027-02-16"),
        ("他们确认了入职日期,2月1日", "2027-02-01"),
    ],
    "ko": [
        ("2월 16일 기차표를 예매했어", "2027-02-16"),
        ("입사일이 2월 1일로 확정됐어", "2027-02-01"),
    ],
}

UNCLEAR = {
    "en": [
        "Dad died on 2 December.",
        "Mr Sethi wants the stock counted on 3 December",
        "the concert on 3 November: lovely",
    ],
    "de": ["Ich hatte am 30. Dezember einen Unfall.", "das Konzert am 3. November: toll"],
    "es": ["mi padre murió el 2 de diciembre"],
    "fr": ["mon père est mort le 2 décembre"],
    "it": ["mio padre è morto il 2 dicembre"],
    "pt": ["meu pai morreu em 2 de dezembro"],
    "nl": ["mijn vader is op 2 december overleden"],
    "ru": ["папа умер 2 декабря"],
    "tr": ["babam 2 Aralık günü öldü"],
    "ja": ["12月2日に父が亡くなった。"],
    "zh": ["爸爸12月2日去世了"],
    "ko": ["12월 2일에 아빠가 돌아가셨어"],
}

TODAYS = {
    "en": ["Wednesday at last!", "I handed in the keys on Wednesday", "so it's wednesday again"],
    "de": ["Mittwoch, endlich Bergfest.", "mittwoch, geschafft, alles gelaufen"],
    "es": ["miércoles por fin"],
    "fr": ["Mercredi, enfin"],
    "it": ["mercoledì, finalmente"],
    "pt": ["quarta-feira, finalmente"],
    "nl": ["woensdag, eindelijk"],
    "ru": ["среда, наконец"],
    "tr": ["çarşamba, nihayet"],
    "ja": ["水曜日、やっと"],
    "zh": ["星期三,终于"],
    "ko": ["수요일이다, 드디어"],
}

OTHER_WEEKS = {
    "en": [("next Wednesday", 7), ("last Wednesday", -7), ("I'm ill since Wednesday", -7)],
    "de": [("kommenden Mittwoch", 7), ("vergangenen Mittwoch", -7), ("seit Mittwoch krank", -7)],
    "es": [("el próximo miércoles", 7), ("el miércoles pasado", -7)],
    "fr": [("mercredi prochain", 7), ("mercredi dernier", -7)],
    "it": [("mercoledì prossimo", 7), ("mercoledì scorso", -7)],
    "pt": [("quarta-feira que vem", 7), ("quarta-feira passada", -7)],
    "nl": [("komende woensdag", 7), ("afgelopen woensdag", -7)],
    "ru": [("в следующую среду", 7), ("в прошлую среду", -7)],
    "tr": [("önümüzdeki çarşamba", 7), ("geçen çarşamba", -7)],
    "ja": [("来週の水曜日", 7), ("先週の水曜日", -7)],
    "zh": [("下周三", 7), ("上周三", -7)],
    "ko": [("다음 주 수요일", 7), ("지난주 수요일", -7)],
}

HABITS = {
    "en": [
        "The yoga class is on Tuesday evenings.",
        "bins go out on Tuesday evening",
        "we always swim on Tuesday",
        "it's Tuesday and Thursday evenings",
        "the first Tuesday of the month",
        "every fourth Friday",
        "Bram goes to daycare on Monday, Tuesday and on Thursday",
    ],
    "de": [
        "Ich arbeite Montag, Dienstag und Donnerstag",
        "die Chorprobe ist immer am Dienstag",
        "Dienstag abends ist Chor",
        "dienstags Yoga",
        "jeden Dienstag Yoga",
    ],
    "es": ["los martes hay yoga", "entrena lunes y jueves", "la clase es el martes"],
    "fr": ["le mardi soir j'ai yoga", "mardi il y a toujours yoga"],
    "it": ["il martedì ho yoga", "martedì c'è sempre yoga"],
    "pt": ["às terças tenho yoga", "a aula é sempre na terça-feira"],
    "nl": ["dinsdags yoga", "op dinsdagavond is er altijd yoga"],
    "ru": ["по вторникам йога", "обычно во вторник йога"],
    "tr": ["Salı günleri yoga var", "her salı yoga var"],
    "ja": ["火曜日の夜はいつもヨガです", "毎週火曜日はヨガ"],
    "zh": ["周二晚上通常有瑜伽课", "每个星期二去游泳"],
    "ko": ["화요일마다 요가 해", "매주 화요일 요가"],
}

NOT_DAYS = {
    "en": [
        "more in nine days than in four years",
        "It was my last night in the old flat.",
        "my last Friday at work",
        "Last night with Gwen.",
    ],
    "de": [
        "mehr Vertrauen in neun Tagen als in vier Jahren",
        "meine letzte Nacht in der alten Wohnung",
        "Letzte Nacht in der alten Wohnung",
    ],
    "es": ["más en nueve días que en cuatro años", "mi último viernes en la oficina"],
    "fr": ["plus dans neuf jours que dans quatre ans", "mon dernier vendredi au bureau"],
    "it": ["il mio ultimo venerdì in ufficio"],
    "pt": ["minha última sexta-feira no escritório"],
    "nl": ["meer over negen dagen dan ooit", "mijn laatste vrijdag op kantoor"],
}

BARE = {
    "de": [
        ("Der Elektriker kommt am 24.", "2026-11-24"),
        ("Anna kommt am 24", "2026-11-24"),
        ("Der Elektriker kommt am 24. Danach ist Ruhe.", "2026-11-24"),
        ("Kirsten reist am 20. an.", "2026-11-20"),
        ("Sie hat am 27. Geburtstag.", "2026-11-27"),
        ("Urlaub ab dem 24.", "2026-11-24"),
        ("am 24. fliegen wir", "2026-11-24"),
        ("Der Elektriker war am 12. da", "2026-11-12"),
    ],
    "es": [
        ("Mi hermana llega el 24.", "2026-11-24"),
        ("el 24 viene mi hermana", "2026-11-24"),
        ("mi hermana llegó el 12", "2026-11-12"),
    ],
    "fr": [
        ("Marie arrive chez nous le 24", "2026-11-24"),
        ("le 24 je vais chez le dentiste", "2026-11-24"),
        ("Elle est arrivée le 12.", "2026-11-12"),
    ],
    "it": [
        ("Arriva il 24", "2026-11-24"),
        ("il 24 arriva mia zia con i bambini", "2026-11-24"),
        ("è arrivata il 12", "2026-11-12"),
    ],
    "pt": [
        ("A Ana chega no dia 24", "2026-11-24"),
        ("a Ana chega dia 24", "2026-11-24"),
        ("a Ana chegou no dia 12", "2026-11-12"),
    ],
    "nl": [
        ("Oma komt de 24e naar ons", "2026-11-24"),
        ("we gaan de 24ste naar Rome", "2026-11-24"),
        ("Oma was er de 12e", "2026-11-12"),
    ],
    "ru": [
        ("Мама приезжает 24-го", "2026-11-24"),
        ("она приезжает 24 числа", "2026-11-24"),
        ("мама приехала 12-го", "2026-11-12"),
    ],
    "ja": [("24日に来る", "2026-11-24"), ("12日に着いた。", "2026-11-12")],
    "zh": [("妈妈24号到", "2026-11-24"), ("妈妈12号到了", "2026-11-12")],
    "ko": [("엄마가 24일에 와요", "2026-11-24"), ("12일에 왔어", "2026-11-12")],
}

NUMBERS = {
    "en": ["we won in the 3rd.", "the 24 is late"],
    "de": ["wir wohnen im 3.", "er ist in der 5. und mag Mathe", "an ihrem 27. Geburtstag"],
    "es": ["cojo el 24 para ir al trabajo", "el 24 por ciento de los niños"],
    "fr": ["il a pris le 24", "mon numéro de maillot c'est le 11", "je suis coincé au 4e"],
    "it": ["il 24 per cento degli italiani", "prendo il 24"],
    "nl": ["het is de 3e keer"],
    "ja": ["3日に一回泳ぐ", "3日間休む"],
    "zh": ["我住在24号楼", "电话是24号"],
}


def pairs(table: dict[str, list[tuple[str, str]]]) -> list[tuple[str, str]]:
    return [pair for pairs in table.values() for pair in pairs]


def texts(*tables: dict[str, list[str]]) -> list[str]:
    return [text for table in tables for texts in table.values() for text in texts]


@pytest.mark.parametrize(("told", "text", "meant"), STRANGERS)
def test_days_of_a_life_are_those_that_were_meant(told: str, text: str, meant: str | None) -> None:
    assert resolved(text, date.fromisoformat(told))[1] == ((meant,) if meant else ())


@pytest.mark.parametrize(("text", "meant"), pairs(YEARS))
def test_what_governs_a_date_decides_its_year(text: str, meant: str) -> None:
    assert meant in resolved(text, WEDNESDAY)[1]


@pytest.mark.parametrize("text", texts(UNCLEAR))
def test_a_date_whose_year_is_in_doubt_is_not_written(text: str) -> None:
    assert resolved(text, WEDNESDAY) == (text, ())


@pytest.mark.parametrize("text", texts(TODAYS))
def test_a_weekday_named_on_that_day_is_today(text: str) -> None:
    assert resolved(text, WEDNESDAY)[1] == (TODAY,)


@pytest.mark.parametrize(
    ("text", "days"), [pair for pairs in OTHER_WEEKS.values() for pair in pairs]
)
def test_a_weekday_that_is_last_or_next_is_not_today(text: str, days: int) -> None:
    assert resolved(text, WEDNESDAY)[1] == ((WEDNESDAY + timedelta(days)).isoformat(),)


@pytest.mark.parametrize("text", texts(HABITS))
def test_what_comes_back_every_week_has_no_single_day(text: str) -> None:
    assert resolved(text, WEDNESDAY) == (text, ())


@pytest.mark.parametrize("text", texts(NOT_DAYS))
def test_comparisons_and_the_last_of_all_are_no_days(text: str) -> None:
    assert resolved(text, WEDNESDAY) == (text, ())


@pytest.mark.parametrize(("text", "meant"), pairs(BARE))
def test_a_day_of_the_month_alone_is_the_one_that_was_or_comes(text: str, meant: str) -> None:
    assert resolved(text, WEDNESDAY)[1] == (meant,)


@pytest.mark.parametrize("text", texts(NUMBERS))
def test_other_numbers_are_no_days_of_the_month(text: str) -> None:
    assert resolved(text, WEDNESDAY) == (text, ())


SUNDAY = date(2026, 11, 15)

CLAUSES = [
    (WEDNESDAY, "apixaban 2.5 mg twice a day from today", "2026-11-18"),
    (WEDNESDAY, "Ibuprofen twice a week from today", "2026-11-18"),
    (WEDNESDAY, "paracetamol once a week from now on", "2026-11-18"),
    (WEDNESDAY, "Dr Patel has put her on apixaban from today.", "2026-11-18"),
    (WEDNESDAY, "From today no sugar.", "2026-11-18"),
    (WEDNESDAY, "The exam is a week from today", "2026-11-25"),
    (WEDNESDAY, "incident 11 Nov: disk full on stg-db-1, 40 min downtime", "2026-11-11"),
    (WEDNESDAY, "outage on 2 Nov, root cause DNS", "2026-11-02"),
    (WEDNESDAY, "Störung am 11. November: Platte voll", "2026-11-11"),
    (WEDNESDAY, "Panne du 11 novembre : disque plein", "2026-11-11"),
    (WEDNESDAY, "Guasto dell'11 novembre: disco pieno", "2026-11-11"),
    (WEDNESDAY, "Incidente de 11 de novembro: disco cheio", "2026-11-11"),
    (WEDNESDAY, "Ich hab im August Urlaub, vom 3. bis 14.", ""),
    (SUNDAY, "We fly on 8 January and come back on the 16th.", "2027-01-08"),
    (
        SUNDAY,
        "Boiler man for Frank's house: coming on Thursday between 8 and 12. Quote was 1,850.",
        "2026-11-19",
    ),
    (
        SUNDAY,
        "No, Ian rang, he can't do Thursday, Friday instead.",
        "2026-11-19 2026-11-20",
    ),
    (WEDNESDAY, "Prod deploy moved, coming on Friday", "2026-11-20"),
    (WEDNESDAY, "I rang them and they come on Tuesday", "2026-11-24"),
    (SUNDAY, "I rang them and they come on Tuesday", "2026-11-17"),
    (WEDNESDAY, "I was told the results come on Friday", "2026-11-20"),
    (WEDNESDAY, "Spoke to Ben, meeting on Monday", ""),
    (WEDNESDAY, "He rang and said Friday.", ""),
    (WEDNESDAY, "He told me on Friday.", "2026-11-13"),
    (WEDNESDAY, "The concert was moved from Friday to Saturday", "2026-11-20 2026-11-21"),
    (SUNDAY, "A consulta passou de terça para quinta", "2026-11-17 2026-11-19"),
    (SUNDAY, "retro moved from Mon 10 to Wed 14", ""),
    (WEDNESDAY, "The parcel should have come on Friday", "2026-11-13"),
    (WEDNESDAY, "You should have the results on Friday", "2026-11-20"),
    (WEDNESDAY, "Bev is off till Monday week", "2026-11-30"),
    (WEDNESDAY, "she comes a week on Friday", "2026-11-27"),
    (WEDNESDAY, "She goes there once a week on Friday", ""),
    (WEDNESDAY, "She left a week last Friday", "2026-11-06"),
    (WEDNESDAY, "Mum's birthday is 5 May", ""),
    (WEDNESDAY, "Unser Hochzeitstag ist der 4. Juni.", ""),
    (WEDNESDAY, "Son anniversaire c'est le 27 mai", ""),
    (WEDNESDAY, "Mum's birthday party is on 28 November", "2026-11-28"),
    (WEDNESDAY, "We celebrated Mum's birthday on 5 May", "2026-05-05"),
    (WEDNESDAY, "Tuesday 24 November", "2026-11-24"),
    (WEDNESDAY, "He told me on Monday he would come on Friday", "2026-11-16"),
    (WEDNESDAY, "He told me on Friday he would come on Monday", "2026-11-13 2026-11-16"),
    (WEDNESDAY, "The letter from 2 November arrived", "2026-11-02"),
    (WEDNESDAY, "Heute vor einer Woche war Anna da", "2026-11-11"),
    (WEDNESDAY, "We marry on Saturday after lunch", "2026-11-21"),
    (WEDNESDAY, "We marry on 8 May next year", "2027-05-08"),
]

NOT_MEANT = [
    "The meeting was moved from Monday to Wednesday",
    "Die Sitzung wurde von Dienstag auf Donnerstag verschoben",
    "Open Monday to Wednesday",
    "Ich arbeite von Montag bis Mittwoch",
    "Abierto de lunes a miércoles",
    "Ouvert de lundi à mercredi",
    "Vendredi en huit",
    "Lundi en quinze",
    "Venerdì a otto",
    "De sexta a oito dias",
    "Del viernes en ocho",
    "A fortnight on Monday",
    "Tomorrow week",
    "A week yesterday",
    "Freitag in acht Tagen",
    "Two weeks ago on Tuesday",
    "Freitag vor einer Woche",
    "The Monday before Christmas",
    "The Monday after Easter",
    "Am Montag nach Ostern",
    "Monday 24 November",
    "Monday 25 November",
    "The invoice from 15 October is due next week",
    "The letter of 2 November says no",
    "Der Brief vom 20. Oktober ist da",
    "la facture du 15 octobre est à payer",
    "I live at 5 October Street",
    "I like Wednesday Addams",
    'We watched "The Day After Tomorrow"',
    "Frau Sonntag kommt",
    "I wish it were Friday",
    "I thought today was Friday",
    "Ich dachte, heute wäre Freitag",
]


@pytest.mark.parametrize(("day", "text", "meant"), CLAUSES)
def test_the_clause_of_a_day_decides_and_in_doubt_none_is_written(
    day: date, text: str, meant: str
) -> None:
    assert resolved(text, day)[1] == tuple(meant.split())


@pytest.mark.parametrize("text", NOT_MEANT)
def test_a_day_that_is_named_but_not_meant_is_not_written(text: str) -> None:
    assert resolved(text, WEDNESDAY) == (text, ())


def test_a_day_in_doubt_that_was_written_stays() -> None:
    text = 'We watched "Friday (2026-11-20) at last"'
    assert resolved(text, WEDNESDAY) == (text, ("2026-11-20",))


@pytest.mark.parametrize(
    "told",
    [
        "On se voit lundi en huit.",
        "Rendez-vous mardi en quinze chez le dentiste.",
        "We watched Saturday Night Live.",
        "I bought it on Black Friday.",
        "The Good Friday Agreement was signed in Belfast.",
        "Super Bowl Sunday was fun.",
        "Manic Monday is my song.",
        "TGI Friday's was full.",
        "Sheffield Wednesday lost again.",
        "Herr Freitag hat angerufen.",
        "Ich habe bei Freitag eine Tasche gekauft.",
        "Sabine Freitag ist meine Chefin.",
    ],
)
def test_what_is_only_called_like_a_day_gets_none(told: str) -> None:
    assert resolved(told, WEDNESDAY) == (told, ())


@pytest.mark.parametrize(
    ("told", "day"),
    [
        ("Am Freitag war ich bei Anna.", "2026-11-13"),
        ("We met Ana on Friday.", "2026-11-13"),
        ("We watched it on Saturday night.", "2026-11-14"),
    ],
)
def test_a_day_beside_such_words_is_still_one(told: str, day: str) -> None:
    assert resolved(told, WEDNESDAY)[1] == (day,)


MONDAY = date(2026, 11, 16)


@pytest.mark.parametrize(
    "told",
    [
        "Dr Farrow put me on losartan on Friday",
        "I hit my head on Friday and hurt my knee",
        "I cut my thumb on Friday",
        "On Friday I cut my thumb",
        "He quit his job on Friday",
        "He quit the choir on Friday",
        "It cost me 40 pounds on Friday",
        "She shut the shop on Friday for good",
        "The bus hit a deer on Friday",
        "They put Wilf in a home on Friday",
        "Gavin cut the hedge on Friday, lovely job",
        "gavin cut the hedge on friday",
        "The pipe burst on Friday",
        "I split my trousers on Friday",
        "My son beat me at chess on Friday",
        "We set up the tent on Friday",
        "I read the report on Friday",
        "They let Wilf out on Friday",
        "I put it in on Friday and will ring them",
        "Le plombier répara la chaudière vendredi",
        "Le film commença vendredi",
        "Ils arrivèrent à Paris vendredi",
        "El viernes comimos en casa",
    ],
)
def test_a_verb_of_one_form_is_past_where_somebody_does_it(told: str) -> None:
    assert resolved(told, MONDAY)[1] == ("2026-11-13",)


@pytest.mark.parametrize(
    "told",
    [
        "Put the bottles out on Friday",
        "Read the report on Friday",
        "Hair cut on Friday",
        "We set off on Friday",
        "We shut early on Friday",
        "I bet it rains on Friday",
        "We always cut the grass on Friday",
        "I read it on Fridays",
        "I cut the grass every Friday",
        "El viernes cenamos con Ana",
        "Hablamos el viernes",
        "Na sexta jantamos com a Ana",
        "Le film finit vendredi",
    ],
)
def test_a_verb_of_two_times_alone_tells_no_day(told: str) -> None:
    assert resolved(told, MONDAY) == (told, ())


@pytest.mark.parametrize(
    "told",
    [
        "I will put it up on Friday",
        "He is going to cut the hedge on Friday",
        "I hope they let him out on Friday",
        "If they put the price up on Friday, I'll sell",
        "Can he cut the hedge on Friday?",
        "The shop is shut on Friday",
        "The pay cut starts on Friday",
        "I need a hair cut on Friday",
        "Estamos en Madrid el viernes",
        "Emma viendra vendredi",
        "Elle pourra venir vendredi",
        "On mange une bonne pizza vendredi",
    ],
)
def test_such_a_verb_is_no_past_behind_what_looks_ahead(told: str) -> None:
    assert resolved(told, MONDAY)[1] == ("2026-11-20",)


FARTHER_WEEKS = {
    "下下周二开会": "2026-10-20",
    "上上周五去的": "2026-09-25",
    "大后天办签证": "2026-10-10",
    "大前天买的": "2026-10-04",
    "再来週の火曜日に行く": "2026-10-20",
    "先々週の金曜日に行った": "2026-09-25",
    "しあさって行く": "2026-10-10",
    "다다음주 화요일에 가": "2026-10-20",
    "지지난주 화요일에 갔어": "2026-09-22",
    "그끄저께 왔어": "2026-10-04",
    "글피에 면접": "2026-10-10",
    "haftaya salı toplantı var": "2026-10-13",
    "haftaya bugün uçuyoruz": "2026-10-14",
    "öbür hafta salı geliyor": "2026-10-20",
    "geçen haftaki salı": "2026-09-29",
    "evvelki gün aldım": "2026-10-05",
    "в позапрошлую пятницу ездили": "2026-09-25",
    "на позапрошлой неделе во вторник": "2026-09-22",
    "послепослезавтра летим": "2026-10-10",
    "через неделю вылет": "2026-10-14",
    "неделю назад звонил": "2026-09-30",
    "vorvorgestern war ich da": "2026-10-04",
}
DAYS_WITH_ENDINGS = {
    "perşembeye ertelendi": "2026-10-08",
    "cumaya randevum var": "2026-10-09",
    "bu pazar pikniğe gidiyoruz": "2026-10-11",
    "20 ekimde gelecek": "2026-10-20",
    "ayın 28'inde geliyor": "2026-10-28",
    "ayın 28inde geliyor": "2026-10-28",
    "к пятнице сдам": "2026-10-09",
    "27 числа узи": "2026-10-27",
    "사흘 뒤 면접": "2026-10-10",
    "이틀 전에 왔어": "2026-10-05",
    "일주일 뒤에 가": "2026-10-14",
    "금욜에 만났어": "2026-10-02",
    "지난달 5일에 갔어": "2026-09-05",
    "다음달 20일에 가": "2026-11-20",
    "十月二十七号到": "2026-10-27",
    "二十七号到": "2026-10-27",
    "下个月3号去": "2026-11-03",
}


@pytest.mark.parametrize(("told", "day"), [*FARTHER_WEEKS.items(), *DAYS_WITH_ENDINGS.items()])
def test_a_longer_word_for_a_day_is_not_read_as_the_shorter_one_in_it(told: str, day: str) -> None:
    assert resolved(told, date(2026, 10, 7))[1] == (day,)


@pytest.mark.parametrize(
    "told",
    [
        "화요일 목요일마다 9시 재무관리 수업",
        "salı pazarından aldım",
        "her ayın 7'sinde öderim",
        "her ayın 15'inde öderim",
        "öbür cuma geliyor",
        "через вторник приём",
        "엊그제 왔어",
        "엄마 생신은 11월 30일이야",
    ],
)
def test_a_word_beside_a_day_that_makes_it_none(told: str) -> None:
    assert resolved(told, date(2026, 10, 6)) == (told, ())
