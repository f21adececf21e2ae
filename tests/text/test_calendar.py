# ruff: noqa: RUF001 - letters of Cyrillic and Turkish that look like others are meant.

from __future__ import annotations

import re
from datetime import date

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clawkit.memory.records import moment
from clawkit.text.calendar.named_days import day_of, fit, mentions, ranges, resolved
from clawkit.text.tables import table
from tests.work_counter import calls

MONDAY = date(2026, 11, 16)
WEDNESDAY = date(2026, 3, 4)
NOW = moment("2024-03-15T12:00:00")  # a Friday

YESTERDAY = "2026-11-15"
LAST_FRIDAY = "2026-11-13"
COMING_FRIDAY = "2026-11-20"
NEXT_FRIDAY = "2026-11-27"
LAST_WEEK = "2026-11-09/2026-11-15"
LAST_MONTH = "2026-10-01/2026-10-31"

ENGLISH = [
    ("I met Ana on Friday", LAST_FRIDAY),
    ("I meet Ana on Friday", COMING_FRIDAY),
    ("I'll see Ana on Friday", COMING_FRIDAY),
    ("We met Friday", LAST_FRIDAY),
    ("I had yoga on monday and it was great", "2026-11-16"),
    ("Ana called last Wednesday", "2026-11-11"),
    ("we fly next Friday", NEXT_FRIDAY),
    ("we fly this coming friday", COMING_FRIDAY),
    ("the meeting was moved to Friday", COMING_FRIDAY),
    ("I booked a table for Friday", COMING_FRIDAY),
    ("I need it by Friday", COMING_FRIDAY),
    ("I have been ill since Friday", LAST_FRIDAY),
    ("The call is scheduled on Friday", COMING_FRIDAY),
    ("She told me that the exam is on Friday", COMING_FRIDAY),
    ("On Friday, after lunch, we walked home", LAST_FRIDAY),
    ("I saw Ana and Bob on Friday", LAST_FRIDAY),
    ("Friday last week was awful", "2026-11-13"),
    ("last week on Tuesday it rained", "2026-11-10"),
    ("on Tuesday of next week I fly", "2026-11-24"),
    ("I moved in on 22 October", "2026-10-22"),
    ("I move in on 22 October", "2027-10-22"),
    ("I quit the course on 22 October", "2026-10-22"),
    ("Emil hurt his knee on 22 October", "2026-10-22"),
    ("I will quit on 22 October", "2027-10-22"),
    ("I moved in on the 22nd of October", "2026-10-22"),
    ("I moved in on Oct 22", "2026-10-22"),
    ("I moved in on Oct. 22nd, 2025", "2025-10-22"),
    ("we met on the first of May", "2026-05-01"),
    ("we met on the twenty-second of October", "2026-10-22"),
    ("Friday, 13 November was fine", "2026-11-13"),
    ("the fair on 10 may 2025", "2025-05-10"),
    ("due 22/10/2026", "2026-10-22"),
    ("due 10/22/2026", "2026-10-22"),
    ("due 2026-10-22", "2026-10-22"),
    ("it broke last night", YESTERDAY),
    ("it broke the day before yesterday", "2026-11-14"),
    ("see you the day after tomorrow", "2026-11-18"),
    ("it broke 3 days ago", "2026-11-13"),
    ("it broke a week ago", "2026-11-09"),
    ("in ten days we fly", "2026-11-26"),
    ("two weeks from now we fly", "2026-11-30"),
    ("it was a few days ago", "2026-11-11/2026-11-14"),
    ("last month was hard", LAST_MONTH),
    ("last week was hard", LAST_WEEK),
    ("next week is free", "2026-11-23/2026-11-29"),
    ("last weekend we hiked", "2026-11-14/2026-11-15"),
    ("we moved in September", "2026-09-01/2026-09-30"),
    ("we move in September", "2027-09-01/2027-09-30"),
    ("in the first week of September we were in Rome", "2026-09-01/2026-09-07"),
    ("at the end of October we were in Rome", "2026-10-22/2026-10-31"),
    ("in early October we were in Rome", "2026-10-01/2026-10-10"),
    ("from 3 to 5 October we were in Rome", "2026-10-03/2026-10-05"),
    ("in the last three days it rained", "2026-11-13/2026-11-16"),
    ("last summer we were in Rome", "2026-06-01/2026-08-31"),
    ("in the summer of 2024 we were in Rome", "2024-06-01/2024-08-31"),
    ("the week before last we hiked", "2026-11-02/2026-11-08"),
    ("in early 2027 we fly", "2027-01-01/2027-04-01"),
    ("by the end of the year we fly", "2026-10-02/2026-12-31"),
    ("He was due on Friday but he comes on Monday", LAST_FRIDAY),
    ("I've got the dentist on Friday", COMING_FRIDAY),
    ("this Friday I was ill", LAST_FRIDAY),
    ("this Friday I fly", COMING_FRIDAY),
    ("we decided to meet on Friday", COMING_FRIDAY),
    ("I am so tired and excited about Friday", COMING_FRIDAY),
    ("over the weekend we hiked", "2026-11-14/2026-11-15"),
    ("on the weekend we hike", "2026-11-21/2026-11-22"),
    ("I paid the rent on the 5th.", "2026-11-05"),
    ("I pay the rent on the 5th", "2026-12-05"),
    ("Friday the 13th was fine", "2026-11-13"),
    ("at the end of last month it rained", "2026-10-22/2026-10-31"),
    ("in 2022 we were in Rome", "2022-01-01/2022-12-31"),
]

GERMAN = [
    ("Ich habe Ana am Freitag getroffen", LAST_FRIDAY),
    ("Ich treffe Ana am Freitag", COMING_FRIDAY),
    ("Am Freitag war ich beim Arzt", LAST_FRIDAY),
    ("ich hab am freitag einen termin", COMING_FRIDAY),
    ("Am Freitag habe ich einen Termin, den ich gestern vereinbart habe", COMING_FRIDAY),
    ("Der Termin wurde auf Freitag verschoben", COMING_FRIDAY),
    ("Wir waren letzten Mittwoch im Kino", "2026-11-11"),
    ("Wir fliegen nächsten Freitag", NEXT_FRIDAY),
    ("Wir fliegen kommenden Freitag", COMING_FRIDAY),
    ("Freitag letzter Woche war schlimm", "2026-11-13"),
    ("letzte Woche Dienstag hat es geregnet", "2026-11-10"),
    ("am 11. November habe ich angerufen", "2026-11-11"),
    ("am 11. November rufe ich an", "2027-11-11"),
    ("Am Mittwoch, den 11. November 2026", "2026-11-11"),
    ("wir sind am 22.10. umgezogen", "2026-10-22"),
    ("wir sind am 22.10 umgezogen", "2026-10-22"),
    ("Umzug am 22.10.2026", "2026-10-22"),
    ("Umzug am 22.10.26", "2026-10-22"),
    ("am ersten Mai waren wir wandern", "2026-05-01"),
    ("Gestern Abend hat es geregnet", YESTERDAY),
    ("vorgestern war ich müde", "2026-11-14"),
    ("Morgen fahre ich nach Hause", "2026-11-17"),
    ("ich fahre morgen nach Hause", "2026-11-17"),
    ("Heute Morgen war es kalt", "2026-11-16"),
    ("Übermorgen ist frei", "2026-11-18"),
    ("vor zwei Tagen kam das Paket", "2026-11-14"),
    ("vor einer Woche kam das Paket", "2026-11-09"),
    ("in zwei Wochen ziehe ich um", "2026-11-30"),
    ("vor ein paar Tagen kam das Paket", "2026-11-11/2026-11-14"),
    ("Vorletzten Freitag war ich im Kino", "2026-11-06"),
    ("übernächste Woche haben wir frei", "2026-11-30/2026-12-06"),
    ("Am Freitagabend war ich im Kino", LAST_FRIDAY),
    ("Am Freitag Ana getroffen.", LAST_FRIDAY),
    ("Am Wochenende waren wir wandern", "2026-11-14/2026-11-15"),
    ("Am 5. habe ich die Miete bezahlt", "2026-11-05"),
    ("Er wird am Freitag operiert", COMING_FRIDAY),
    ("Er wurde am Freitag operiert", LAST_FRIDAY),
    ("letzten Monat war viel los", LAST_MONTH),
    ("letzte Woche war viel los", LAST_WEEK),
    ("im September waren wir in Rom", "2026-09-01/2026-09-30"),
    ("Ende Oktober waren wir in Rom", "2026-10-22/2026-10-31"),
    ("in der ersten Woche im September waren wir in Rom", "2026-09-01/2026-09-07"),
    ("letzten Sommer waren wir in Rom", "2026-06-01/2026-08-31"),
    ("im Jahr 2022 waren wir in Rom", "2022-01-01/2022-12-31"),
]

SPANISH = [
    ("Vi a Ana el viernes", LAST_FRIDAY),
    ("Veo a Ana el viernes", COMING_FRIDAY),
    ("El viernes voy al médico", COMING_FRIDAY),
    ("He visto a Ana el viernes", LAST_FRIDAY),
    ("El viernes pasado fuimos al cine", LAST_FRIDAY),
    ("el próximo viernes hay fiesta", COMING_FRIDAY),
    ("el viernes que viene hay fiesta", COMING_FRIDAY),
    ("el viernes de la semana pasada llovió", "2026-11-13"),
    ("el 22 de octubre fui al médico", "2026-10-22"),
    ("el 22 de octubre tengo médico", "2027-10-22"),
    ("el 22 de octubre de 2025", "2025-10-22"),
    ("el viernes 13 de noviembre fue fácil", "2026-11-13"),
    ("el primero de mayo caminamos y comimos bien, fue bonito", "2026-05-01"),
    ("ayer por la mañana llovió", YESTERDAY),
    ("anoche llovió", YESTERDAY),
    ("anteayer llovió", "2026-11-14"),
    ("mañana voy al médico", "2026-11-17"),
    ("pasado mañana voy al médico", "2026-11-18"),
    ("hace tres días llegó", "2026-11-13"),
    ("hace una semana llegó", "2026-11-09"),
    ("dentro de dos semanas viajo", "2026-11-30"),
    ("el mes pasado fue duro", LAST_MONTH),
    ("la semana pasada fue dura", LAST_WEEK),
    ("en septiembre estuvimos en Roma", "2026-09-01/2026-09-30"),
    ("a finales de octubre estuvimos en Roma", "2026-10-22/2026-10-31"),
    ("la primera semana de septiembre estuvimos en Roma", "2026-09-01/2026-09-07"),
    ("el verano pasado estuvimos en Roma", "2026-06-01/2026-08-31"),
    ("llegó el 22/10/2026", "2026-10-22"),
]

FRENCH = [
    ("J'ai vu Ana vendredi", LAST_FRIDAY),
    ("Je vois Ana vendredi", COMING_FRIDAY),
    ("J'ai un rendez-vous vendredi", COMING_FRIDAY),
    ("Vendredi dernier nous sommes allés au cinéma", LAST_FRIDAY),
    ("Nous partons vendredi prochain", COMING_FRIDAY),
    ("vendredi de la semaine dernière il a plu", "2026-11-13"),
    ("le 3 novembre j'ai vu le médecin", "2026-11-03"),
    ("le 3 novembre je vois le médecin", "2027-11-03"),
    ("le vendredi 13 novembre nous avons mangé", "2026-11-13"),
    ("le 1er mai nous avons marché", "2026-05-01"),
    ("le 22 octobre 2025", "2025-10-22"),
    ("Hier j'ai mangé avec Ana", YESTERDAY),
    ("Hier soir il a plu", YESTERDAY),
    ("avant-hier il a plu", "2026-11-14"),
    ("Aujourd'hui il pleut", "2026-11-16"),
    ("demain je vais chez le médecin", "2026-11-17"),
    ("après-demain je vais chez le médecin", "2026-11-18"),
    ("il y a trois jours il a plu", "2026-11-13"),
    ("il y a une semaine il a plu", "2026-11-09"),
    ("dans deux semaines nous partons", "2026-11-30"),
    ("le mois dernier était dur", LAST_MONTH),
    ("la semaine dernière était dure", LAST_WEEK),
    ("en septembre nous étions à Rome", "2026-09-01/2026-09-30"),
    ("fin octobre nous étions à Rome", "2026-10-22/2026-10-31"),
    ("à la mi-octobre nous étions à Rome", "2026-10-11/2026-10-21"),
    ("la première semaine de septembre nous étions à Rome", "2026-09-01/2026-09-07"),
    ("l'été dernier nous étions à Rome", "2026-06-01/2026-08-31"),
]

ITALIAN = [
    ("Ho visto Ana venerdì", LAST_FRIDAY),
    ("Vedo Ana venerdì", COMING_FRIDAY),
    ("Ho il dentista venerdì", COMING_FRIDAY),
    ("Venerdì scorso siamo andati al cinema", LAST_FRIDAY),
    ("Venerdì prossimo partiamo", COMING_FRIDAY),
    ("venerdì della settimana scorsa ha piovuto", "2026-11-13"),
    ("il 22 ottobre sono andato dal medico", "2026-10-22"),
    ("il 22 ottobre vado dal medico", "2027-10-22"),
    ("il primo maggio abbiamo camminato", "2026-05-01"),
    ("il 22 ottobre 2025", "2025-10-22"),
    ("ieri ha piovuto", YESTERDAY),
    ("ieri sera ha piovuto", YESTERDAY),
    ("l'altro ieri ha piovuto", "2026-11-14"),
    ("domani vado dal medico", "2026-11-17"),
    ("dopodomani vado dal medico", "2026-11-18"),
    ("tre giorni fa ha piovuto", "2026-11-13"),
    ("una settimana fa ha piovuto", "2026-11-09"),
    ("fra due settimane partiamo", "2026-11-30"),
    ("il mese scorso è stato duro", LAST_MONTH),
    ("la settimana scorsa è stata dura", LAST_WEEK),
    ("a settembre eravamo a Roma", "2026-09-01/2026-09-30"),
    ("a fine ottobre eravamo a Roma", "2026-10-22/2026-10-31"),
    ("la prima settimana di settembre eravamo a Roma", "2026-09-01/2026-09-07"),
    ("l'estate scorsa eravamo a Roma", "2026-06-01/2026-08-31"),
]

PORTUGUESE = [
    ("Vi a Ana na sexta-feira", LAST_FRIDAY),
    ("Vejo a Ana na sexta-feira", COMING_FRIDAY),
    ("Encontrei a Ana na sexta", LAST_FRIDAY),
    ("Tenho médico na sexta", COMING_FRIDAY),
    ("Na sexta-feira passada fomos ao cinema", LAST_FRIDAY),
    ("Na próxima sexta-feira viajamos", COMING_FRIDAY),
    ("sexta-feira que vem viajamos", COMING_FRIDAY),
    ("jantar na sexta-feira a seguir", COMING_FRIDAY),
    ("no dia 22 de outubro fui ao médico", "2026-10-22"),
    ("no dia 22 de outubro vou ao médico", "2027-10-22"),
    ("22 de outubro de 2025", "2025-10-22"),
    ("ontem choveu", YESTERDAY),
    ("ontem à noite choveu", YESTERDAY),
    ("anteontem choveu", "2026-11-14"),
    ("amanhã vou ao médico", "2026-11-17"),
    ("depois de amanhã vou ao médico", "2026-11-18"),
    ("há três dias choveu", "2026-11-13"),
    ("uma semana atrás choveu", "2026-11-09"),
    ("daqui a duas semanas viajo", "2026-11-30"),
    ("o mês passado foi duro", LAST_MONTH),
    ("a semana passada foi dura", LAST_WEEK),
    ("em setembro estivemos em Roma", "2026-09-01/2026-09-30"),
    ("no fim de outubro estivemos em Roma", "2026-10-22/2026-10-31"),
    ("na primeira semana de setembro estivemos em Roma", "2026-09-01/2026-09-07"),
    ("no verão passado estivemos em Roma", "2026-06-01/2026-08-31"),
]

DUTCH = [
    ("Ik heb Ana vrijdag gezien", LAST_FRIDAY),
    ("Ik zie Ana vrijdag", COMING_FRIDAY),
    ("Ik heb vrijdag een afspraak", COMING_FRIDAY),
    ("Op vrijdag was ik bij de dokter", LAST_FRIDAY),
    ("afgelopen woensdag was ik ziek", "2026-11-11"),
    ("vorige week vrijdag was ik ziek", "2026-11-13"),
    ("volgende vrijdag vliegen we", NEXT_FRIDAY),
    ("komende vrijdag vliegen we", COMING_FRIDAY),
    ("op 22 oktober was ik ziek", "2026-10-22"),
    ("op 22 oktober ga ik weg", "2027-10-22"),
    ("op 22 oktober 2025", "2025-10-22"),
    ("gisteren was ik ziek", YESTERDAY),
    ("gisteravond regende het", YESTERDAY),
    ("eergisteren was ik ziek", "2026-11-14"),
    ("vrijdagavond was ik ziek", LAST_FRIDAY),
    ("morgen ga ik weg", "2026-11-17"),
    ("overmorgen ga ik weg", "2026-11-18"),
    ("drie dagen geleden was ik ziek", "2026-11-13"),
    ("een week geleden was ik ziek", "2026-11-09"),
    ("over twee weken ga ik weg", "2026-11-30"),
    ("vorige maand was zwaar", LAST_MONTH),
    ("vorige week was zwaar", LAST_WEEK),
    ("in september waren we in Rome", "2026-09-01/2026-09-30"),
    ("eind oktober waren we in Rome", "2026-10-22/2026-10-31"),
    ("de eerste week van september waren we in Rome", "2026-09-01/2026-09-07"),
    ("afgelopen zomer waren we in Rome", "2026-06-01/2026-08-31"),
]

JAPANESE = [
    ("昨日、映画を見た", YESTERDAY),
    ("一昨日は雨だった", "2026-11-14"),
    ("明後日は休みです", "2026-11-18"),
    ("金曜日にアナに会った。", LAST_FRIDAY),
    ("金曜日にアナに会う", COMING_FRIDAY),
    ("先週の水曜日に会った", "2026-11-11"),
    ("10月22日に引っ越した。", "2026-10-22"),
    ("10月22日に引っ越す", "2027-10-22"),
    ("三日前に届いた", "2026-11-13"),
    ("二週間後に引っ越す", "2026-11-30"),
    ("先月は大変だった", LAST_MONTH),
    ("去年の夏に行った", "2026-06-01/2026-08-31"),
]

CHINESE = [
    ("我昨天见了安娜", YESTERDAY),
    ("后天休息", "2026-11-18"),
    ("我星期五见了安娜", LAST_FRIDAY),
    ("我星期五见安娜", COMING_FRIDAY),
    ("上周三下雨了", "2026-11-11"),
    ("10月22号搬家了", "2026-10-22"),
    ("2025年10月22日", "2025-10-22"),
    ("三天前到了", "2026-11-13"),
    ("上个月很忙", LAST_MONTH),
]

KOREAN = [
    ("어제 아나를 만났어", YESTERDAY),
    ("모레 쉬어요", "2026-11-18"),
    ("금요일에 아나를 만났어요", LAST_FRIDAY),
    ("금요일에 아나를 만나요", COMING_FRIDAY),
    ("지난주 수요일에 비가 왔어", "2026-11-11"),
    ("10월 22일에 이사했어", "2026-10-22"),
    ("3일 전에 왔어", "2026-11-13"),
    ("지난달은 힘들었어", LAST_MONTH),
]

RUSSIAN = [
    ("Вчера шёл дождь", YESTERDAY),
    ("Послезавтра выходной", "2026-11-18"),
    ("В пятницу я встретил Анну", LAST_FRIDAY),
    ("В пятницу я иду к врачу", COMING_FRIDAY),
    ("в прошлую среду был дождь", "2026-11-11"),
    ("22 октября мы переехали", "2026-10-22"),
    ("22 октября 2025 года", "2025-10-22"),
    ("три дня назад был дождь", "2026-11-13"),
    ("через две недели едем", "2026-11-30"),
    ("в прошлом месяце было трудно", LAST_MONTH),
]

TURKISH = [
    ("Dün yağmur yağdı", YESTERDAY),
    ("Cuma günü Ana ile buluştum", LAST_FRIDAY),
    ("Cuma günü Ana ile buluşacağım", COMING_FRIDAY),
    ("geçen çarşamba yağmur yağdı", "2026-11-11"),
    ("22 Ekim 2025", "2025-10-22"),
    ("22 Ekim'de taşındık", "2026-10-22"),
    ("üç gün önce geldi", "2026-11-13"),
    ("iki hafta sonra gidiyoruz", "2026-11-30"),
    ("geçen ay zordu", LAST_MONTH),
]

QUESTIONS = [
    ("What did I do on Friday?", LAST_FRIDAY),
    ("What did I have for lunch on Friday?", LAST_FRIDAY),
    ("What happened last Wednesday?", "2026-11-11"),
    ("Who called on 22 October?", "2026-10-22"),
    ("Friday lunch with whom?", LAST_FRIDAY),
    ("When is my appointment on Friday?", COMING_FRIDAY),
    ("What will we do on Friday?", COMING_FRIDAY),
    ("What are we going to do on 22 October?", "2027-10-22"),
    ("what did I do in the first week of September", "2026-09-01/2026-09-07"),
    ("Where were we in December?", "2025-12-01/2025-12-31"),
    ("two weeks ago", "2026-10-30/2026-11-05"),
    ("Was habe ich am Freitag gemacht?", LAST_FRIDAY),
    ("Was war letzten Mittwoch?", "2026-11-11"),
    ("Wer hat am 22. Oktober angerufen?", "2026-10-22"),
    ("Was mache ich am Freitag?", COMING_FRIDAY),
    ("Wann ist mein Termin am Freitag?", COMING_FRIDAY),
    ("¿Qué hice el viernes?", LAST_FRIDAY),
    ("¿Quién llamó el 22 de octubre?", "2026-10-22"),
    ("Qu'est-ce que j'ai fait vendredi ?", LAST_FRIDAY),
    ("Qui a appelé le 22 octobre ?", "2026-10-22"),
    ("Cosa ho fatto venerdì?", LAST_FRIDAY),
    ("O que fiz na sexta-feira?", LAST_FRIDAY),
    ("Wat heb ik vrijdag gedaan?", LAST_FRIDAY),
    ("金曜日に何をした?", LAST_FRIDAY),
    ("我星期五做了什么?", LAST_FRIDAY),
    ("금요일에 뭐 했어?", LAST_FRIDAY),
    ("Что я делал в пятницу?", LAST_FRIDAY),
    ("Cuma günü ne yaptım?", LAST_FRIDAY),
]

NO_DAYS = [
    "You may go",
    "May I come in?",
    "Of those 10 may be broken",
    "They march 3 miles",
    "June called me",
    "What did April say about it?",
    "August is my uncle",
    "Ich bin hier bei der Arbeit",
    "Wij zijn hier in huis",
    "So do I, and my son, too",
    "The sun is out",
    "He sat down",
    "We wed in secret",
    "Do mi so la",
    "El mar es azul",
    "J'ai sept enfants",
    "J'ai été malade",
    "3 out of 5 people like it",
    "I have 5 set aside",
    "every Friday I swim",
    "on Fridays I swim",
    "I was there on a Friday",
    "Freitags gehe ich schwimmen",
    "Jeden Freitag gehe ich schwimmen",
    "los viernes nado",
    "Le vendredi je nage",
    "tous les vendredis je nage",
    "Il venerdì nuoto",
    "ogni venerdì nuoto",
    "toda sexta-feira eu nado",
    "elke vrijdag zwem ik",
    "毎週金曜日に泳ぐ",
    "每周五游泳",
    "Open Monday to Friday",
    "von Montag bis Freitag geöffnet",
    "Good Friday is a holiday",
    "Black Friday deals",
    "Guten Morgen zusammen",
    "Am Morgen trinke ich Kaffee",
    "Por la mañana tomo café",
    "It cost 22.10. That is a lot",
    "Version 3.10.2 is out",
    "the server is 10.10.10.10",
    "we are open 24/7",
    "half is 1/2",
    "a score of 3/4/5",
    "on 31 February 2023",
    "on April 31 nothing happens",
    "He did it in two weeks",
    "I was born on 3 May",
    "a segunda vez foi melhor",
    "13月",
    "三周一次",
    "9999999 years ago",
    "5 days of rain",
    "the last straw",
    "she wants a longer one, the first of many",
    "we live on the 5th floor",
    "am 2. Spieltag haben wir verloren",
    "my next car",
    "Fr. Müller hat angerufen",
    "Mo is my cousin",
    "Jan and Mark came",
    "03/04/2026 is what the form says",
    "no time at all",
    "",
]


def said(text: str, day: date, *, asking: bool = False) -> list[str]:
    """The days of a text as they are written in the tables."""
    return [
        one.first.isoformat() + (f"/{one.last.isoformat()}" if one.last != one.first else "")
        for one in mentions(text, day, asking=asking)
    ]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        *(ENGLISH + GERMAN + SPANISH + FRENCH + ITALIAN + PORTUGUESE + DUTCH),
        *(JAPANESE + CHINESE + KOREAN + RUSSIAN + TURKISH),
    ],
)
def test_a_statement_means_days_by_its_words_and_its_tense(text: str, meant: str) -> None:
    assert meant in said(text, MONDAY)


@pytest.mark.parametrize(("text", "meant"), QUESTIONS)
def test_a_question_asks_about_the_past_unless_it_says_otherwise(text: str, meant: str) -> None:
    assert said(text, MONDAY, asking=True) == [meant]


@pytest.mark.parametrize("text", NO_DAYS)
def test_what_only_looks_like_a_day_is_none(text: str) -> None:
    assert said(text, MONDAY) == []


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("I flew home yesterday", "2026-03-03"),
        ("we leave the day after tomorrow", "2026-03-06"),
        ("dinner tonight", "2026-03-04"),
        ("it broke 3 days ago", "2026-03-01"),
        ("it broke a week ago", "2026-02-25"),
        ("it starts in two weeks", "2026-03-18"),
        ("we met last Monday", "2026-03-02"),
        ("we met last Wednesday", "2026-02-25"),
        ("we meet next Friday", "2026-03-13"),
        ("we meet on Friday", "2026-03-06"),
        ("the exam is on March 20th", "2026-03-20"),
        ("the exam is on 20 March 2027", "2027-03-20"),
        ("my birthday is Dec 30", None),
        ("released on 2026-05-01", "2026-05-01"),
        ("昨日、映画を見た", "2026-03-03"),
        ("明後日は休みです", "2026-03-06"),
        ("三日前に届いた", "2026-03-01"),
        ("3日前に届いた", "2026-03-01"),
        ("2週間後に引っ越す", "2026-03-18"),
        ("来週の月曜日に会議がある", "2026-03-09"),
        ("先週の金曜に会った", "2026-02-27"),
        ("誕生日は5月3日です", None),
        ("会議は5月3日です", "2026-05-03"),
        ("2027年1月2日に結婚する", "2027-01-02"),
        ("last month was hard", None),
        ("I may go", None),
        ("on April 31 nothing happens", None),
        ("999 weeks ago", "2007-01-10"),
    ],
)
def test_a_day_is_resolved_from_where_the_speaker_stands(said: str, day: str | None) -> None:
    text, days = resolved(said, WEDNESDAY)
    assert days == ((day,) if day else ())
    assert (day is None and text == said) or (day is not None and day in text)


def test_the_words_stay_and_the_day_stands_behind_them() -> None:
    text, days = resolved("Yesterday I ran, tomorrow I rest.", WEDNESDAY)
    assert text == "Yesterday (2026-03-03) I ran, tomorrow (2026-03-05) I rest."
    assert days == ("2026-03-03", "2026-03-05")


@pytest.mark.parametrize("moment", [float("nan"), float("inf"), -1e18, 1e300])
def test_any_number_is_some_day(moment: float) -> None:
    assert 1970 <= day_of(moment).year <= 9999


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("What happened in June 2023?", "2023-06-01", "2023-06-30"),
        ("on 8 May, 2023", "2023-05-08", "2023-05-08"),
        ("on May 8th 2023", "2023-05-08", "2023-05-08"),
        ("What did I do last May?", "2023-05-01", "2023-05-31"),
        ("in February", "2024-02-01", "2024-02-29"),
        ("in 2022", "2022-01-01", "2022-12-31"),
        ("on 2023-12-24", "2023-12-24", "2023-12-24"),
        ("yesterday", "2024-03-14", "2024-03-14"),
        ("two weeks ago", "2024-02-27", "2024-03-04"),
        ("last month", "2024-02-01", "2024-02-29"),
        ("last year", "2023-01-01", "2023-12-31"),
        ("last Tuesday", "2024-03-12", "2024-03-12"),
        ("last weekend", "2024-03-09", "2024-03-10"),
        ("last summer", "2023-06-01", "2023-08-31"),
        ("昨日", "2024-03-14", "2024-03-14"),
        ("一昨日は?", "2024-03-13", "2024-03-13"),
        ("先月の旅行", "2024-02-01", "2024-02-29"),
        ("2023年5月", "2023-05-01", "2023-05-31"),
        ("12月24日", "2023-12-24", "2023-12-24"),
        ("去年", "2023-01-01", "2023-12-31"),
        ("2021年に", "2021-01-01", "2021-12-31"),
    ],
)
def test_a_time_in_words_is_a_range_of_days(text: str, first: str, last: str):
    assert ranges(text, NOW) == [(date.fromisoformat(first), date.fromisoformat(last))]


@pytest.mark.parametrize(
    "text",
    ["You may go", "May I?", "on 31 February 2023", "9999999 years ago", "13月", "no time at all"],
)
def test_what_is_no_time_has_no_range(text: str):
    assert ranges(text, NOW) == []


def test_a_day_within_fits_best_and_shortly_after_better_than_before():
    asked = ranges("in June 2023", NOW)
    within, after, before, far = (
        fit((day,), asked) for day in ("2023-06-15", "2023-07-04", "2023-05-29", "2022-01-01")
    )
    assert within == 1.0
    assert within > after > before > far == 0.0


def test_days_are_found_in_a_when_that_tells_more():
    assert fit(("2023-06-15 at the fair",), ranges("in June 2023", NOW)) == 1.0
    assert fit(("some day", ""), ranges("in June 2023", NOW)) == 0.0


_WORDS = sorted(
    {
        word
        for language in table("days").values()
        for words in (*language["words"].values(), *language["relative"].values())
        for word in re.split(r"[,|?\n]+", words)
    }
    | {"22", "1.", "31", "2026", "22.10.", "22/10", "2026-02-30", "0", "999", ".", ",", "\n", "日"}
    | {"先週", "月曜", "三", "週間前", "금요일", "İ", "(2026-01-01)", "ago", "in", "weeks", "'"}
)
_TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(_WORDS), max_size=12).map(" ".join),
    st.lists(st.sampled_from(_WORDS), max_size=12).map("".join),
)


@settings(max_examples=5 * settings().max_examples)
@given(text=_TEXTS, day=st.dates(), asking=st.booleans())
@example(text="yesterday 999 years ago", day=date.min, asking=False)
@example(text="tomorrow in 999 weeks next year", day=date.max, asking=True)
def test_any_text_on_any_day_names_days_within_it(text: str, day: date, asking: bool) -> None:
    end = 0
    for one in mentions(text, day, asking=asking):
        assert end <= one.start < one.end <= len(text)
        assert one.first <= one.last
        end = one.end


@settings(max_examples=3 * settings().max_examples)
@given(text=_TEXTS, day=st.dates())
def test_what_is_written_behind_days_is_all_that_is_added(text: str, day: date) -> None:
    written, days = resolved(text, day)
    rest = iter(written)
    assert all(character in rest for character in text)
    single = [one for one in mentions(text, day) if one.first == one.last]
    assert set(days) == {one.first.isoformat() for one in single}
    stripped = written
    for one in reversed(single):
        addition = f" ({one.first.isoformat()})"
        at = stripped.rfind(addition)
        if one.first.isoformat() not in text[one.start : one.end]:
            assert at >= 0
            stripped = stripped[:at] + stripped[at + len(addition) :]
    assert stripped == text


def test_days_that_were_written_stay_what_they_were() -> None:
    once, days = resolved("I met Ana on Friday, and Ben yesterday.", MONDAY)
    assert resolved(once, date(2027, 1, 1)) == (once, days)


def test_one_message_may_tell_of_what_was_and_of_what_comes() -> None:
    text = "I saw the dentist on Friday, and on Wednesday I have to go back."
    assert said(text, MONDAY) == [LAST_FRIDAY, "2026-11-18"]


def test_the_place_of_a_day_is_where_its_words_are() -> None:
    text = "On Friday, 13 November we met."
    (one,) = mentions(text, MONDAY)
    assert text[one.start : one.end] == "Friday, 13 November"


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    ["monday ", "may 5 ", "1.", "in the last ", "先週の金曜日", "1 ", "am 11. Mai war ich "],
)
def test_a_text_of_twice_the_length_takes_twice_the_work(piece: str) -> None:
    mentions(piece * 9, MONDAY)
    few, twice = (calls(lambda n=n: mentions(piece * n, MONDAY)) for n in (2000, 4000))
    assert twice < 2.5 * few
