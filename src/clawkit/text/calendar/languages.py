"""The words for days and times, one table for each language that separates its words.

Words of one meaning are separated by commas, meanings in their order by `|`. A word that begins
with `?` means other things as often: it counts only where the rest of the text is in its language.
"""

# ruff: noqa: RUF001 - letters of Cyrillic and Turkish that look like others are meant.

from __future__ import annotations

import msgspec

Days = int | tuple[int, int]
"""So many days from the day of the text, or from one to another."""


class Tense(msgspec.Struct, frozen=True, kw_only=True):
    """What shows whether a sentence tells of what was or of what is to come."""

    past: str = ""
    past_ending: str = ""
    """Endings of the words that are past by themselves, as a pattern for the whole word."""

    not_past: str = ""
    """Words with such an ending, or the form of a participle, that are none."""

    after: str = ""
    """Words after which such an ending shows no past."""

    perfect: str = ""
    """Words that make a past of the participle that comes with them."""

    participle: str = ""
    near: int = 3
    """How many words the participle may be away; 0 is anywhere in the clause."""

    plans: str = ""
    """Past verbs after which an infinitive tells what is to come."""

    future: str = ""
    future_ending: str = ""
    present: str = ""


class Language(msgspec.Struct, frozen=True, kw_only=True):
    """How one language names days."""

    name: str
    common: str
    """Words by which the language is known."""

    relative: dict[str, Days]
    weekdays: str
    short_weekdays: str = ""
    months: str
    short_months: str = ""
    doubtful_months: str = ""
    """Months that are names or other words, too: they need a number or a preposition."""

    last: str
    before_last: str = ""
    past_span: str = ""
    """What means the time until now, and not the week or month before this one."""

    next: str
    coming: str = ""
    """What means the first to come, where `next` is of the week that follows."""

    after_next: str = ""
    this: str
    every: str
    day: str
    week: str
    weekend: str
    month: str
    year: str
    seasons: str
    counts: str
    few: str = ""
    ago_before: str = ""
    ago_after: str = ""
    ahead_before: str = ""
    ahead_after: str = ""
    begin: str
    middle: str
    end: str
    weeks: str
    """The first, second, third, fourth and last week of a month."""

    firsts: str
    """Ordinals as words, from the first."""

    on: str
    since: str
    toward: str
    """What points to a day that is to come, whatever the verb says."""

    of: str
    to: str
    nothing: str
    """Phrases that have such words in them and name no day."""

    nouns: str = ""
    """Words that are other words where they are capitalised within a sentence."""

    habit: bool = False
    """Whether an article before a weekday means each of them."""

    month_first: bool = False
    tense: Tense


def _with_parts_of_day(weekdays: str, parts: str) -> str:
    """Weekdays and what is one word with them, such as the German `Freitagabend`."""
    return "|".join(
        ",".join(f"{name}{part}" for name in names.split(",") for part in ("", *parts.split(",")))
        for names in weekdays.split("|")
    )


_EN = Language(
    name="en",
    common="the,and,i,my,is,was,we,he,she,it,of,to,did,what,when,with,for,you,are,that,have,they,at",
    relative={
        "today": 0,
        "tonight": 0,
        "this morning": 0,
        "this afternoon": 0,
        "this evening": 0,
        "earlier today": 0,
        "yesterday": -1,
        "last night": -1,
        "the night before last": -2,
        "the day before yesterday": -2,
        "day before yesterday": -2,
        "tomorrow": 1,
        "the day after tomorrow": 2,
        "day after tomorrow": 2,
        "recently": (-30, 0),
        "lately": (-30, 0),
        "the other day": (-14, -1),
    },
    weekdays="monday|tuesday|wednesday|thursday|friday|saturday|sunday",
    short_weekdays="mon|tue,tues|wed|thu,thur,thurs|fri|sat|sun",
    months="january|february|march|april|may|june|july|august|september|october|november|december",
    short_months="jan|feb|?mar|apr||jun|jul|aug|sep,sept|oct|nov|dec",
    doubtful_months="march,april,may,june,august",
    last="last,previous",
    before_last="before last",
    past_span="past",
    next="next",
    coming="coming,upcoming",
    after_next="after next",
    this="this",
    every="every,each,every other,every second,most,any,alternate",
    day="day,days",
    week="week,weeks",
    weekend="weekend,weekends",
    month="month,months",
    year="year,years",
    seasons="spring|summer|autumn,fall|winter",
    counts="a,an,one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve",
    few="a few,few,several,a couple of,a couple,couple of,some",
    ago_after="ago",
    ahead_before="in",
    ahead_after="from now,from today",
    begin="beginning,start,early,the beginning,the start",
    middle="middle,mid,the middle",
    end="end,late,the end",
    weeks="first week|second week|third week|fourth week|last week of,final week",
    firsts="first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|"
    "thirteenth|fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth|"
    "twenty first|twenty second|twenty third|twenty fourth|twenty fifth|twenty sixth|"
    "twenty seventh|twenty eighth|twenty ninth|thirtieth|thirty first",
    on="on,at,over,during,from,before,after,around,until,till,between",
    since="since",
    toward="by,for,to",
    of="of,the",
    to="through,thru,and",
    nothing="good friday,black friday,ash wednesday,shrove tuesday,pancake tuesday,palm sunday,"
    "easter sunday,easter monday,bank holiday monday,cyber monday,super tuesday,maundy thursday,"
    "friday prayers,man friday,girl friday,spring water,spring onions,spring rolls",
    month_first=True,
    tense=Tense(
        past="was,were,had,did,went,came,saw,met,got,made,took,gave,told,said,bought,brought,"
        "thought,found,left,felt,kept,lost,paid,sent,spent,slept,stood,taught,ate,drank,drove,"
        "flew,wrote,rode,ran,sang,sat,spoke,broke,chose,fell,forgot,grew,heard,held,knew,led,"
        "began,became,built,caught,fought,hung,hid,won,wore,woke,threw,swam,stole,shook,rang,"
        "been,gone,done,seen,given,taken,eaten,written,wasn,weren,hadn,didn,born,died,swapped,"
        "dreamt,learnt,burnt,spilt,lent,bent,meant,dug,stuck,tore,sold,froze,bit,blew,drew",
        past_ending=r"[a-z]{2,}ed",
        not_past="need,feed,speed,indeed,shed,weed,seed,hundred,breed,bleed,exceed,proceed,"
        "excited,tired,worried,scared,bored,pleased,interested,succeed,bred,sled,wicked,naked,sacred,kindred,embed,unwed,parted,infrared",
        after="is,are,am,s,m,re,be,being,get,gets,to,will,isn,aren",
        plans="decided,agreed,planned,promised,asked,wanted,told,offered,invited,hoped,scheduled,"
        "arranged,booked,reminded,rescheduled",
        future="will,ll,shall,gonna,going,tomorrow,upcoming,won,planning,hope,hoping",
        present="is,are,am,has,does,isn,aren,hasn,doesn,starts,comes,begins,opens,closes,leaves,"
        "arrives,happens,falls,goes,gets,wants,needs,must,can,should,need,have,do,re,m",
    ),
)

_DE = Language(
    name="de",
    common="ich,und,der,die,das,ist,war,mein,meine,wir,nicht,mit,ein,eine,habe,hat,er,sie,es,"
    "den,dem,zu,auf,für,was,wann,wer,wo,bin,mir,mich,du,im,am,zum,noch,hab,bei,von,auch",
    relative={
        "heute": 0,
        "heut": 0,
        "heute morgen": 0,
        "heute früh": 0,
        "heute abend": 0,
        "heute nacht": 0,
        "diesen morgen": 0,
        "gestern": -1,
        "gestern morgen": -1,
        "gestern früh": -1,
        "gestern abend": -1,
        "letzte nacht": -1,
        "vorgestern": -2,
        "morgen": 1,
        "morgen früh": 1,
        "morgen abend": 1,
        "übermorgen": 2,
        "neulich": (-30, -1),
        "kürzlich": (-30, -1),
        "vor kurzem": (-30, -1),
        "in letzter zeit": (-30, 0),
    },
    weekdays=_with_parts_of_day(
        "montag|dienstag|mittwoch|donnerstag|freitag|samstag,sonnabend|sonntag",
        "früh,morgen,vormittag,mittag,nachmittag,abend,nacht",
    ),
    short_weekdays="mo|di|mi|do|fr|sa|so",
    months="januar,jänner|februar,feber|märz,maerz|april|mai|juni|juli|august|september|oktober|"
    "november|dezember",
    short_months="jan|feb|mär,?mar|apr||jun|jul|aug|sep,sept|okt|nov|dez",
    doubtful_months="april,mai,juli,august",
    last="letzten,letzte,letztes,letztem,letzter,vergangenen,vergangene,vergangenes,vergangener,"
    "vorigen,vorige,voriges,voriger",
    next="nächsten,nächste,nächstes,nächstem,nächster,naechsten,naechste,folgenden",
    coming="kommenden,kommende,kommendes,kommender",
    before_last="vorletzten,vorletzte,vorletztes,vorletzter,vorvorigen",
    after_next="übernächsten,übernächste,übernächstes,übernächster",
    this="diesen,diese,dieses,diesem,dieser",
    every="jeden,jede,jedes,jeder,jedem,alle,manchen",
    day="tag,tage,tagen,tags",
    week="woche,wochen",
    weekend="wochenende,wochenenden",
    month="monat,monate,monaten,monats",
    year="jahr,jahre,jahren,jahres",
    seasons="frühling,frühjahr,frühjahrs,frühlings|sommer,sommers|herbst,herbsts,herbstes|winter,"
    "winters",
    counts="ein,eine,einen,einem,einer,eins|zwei,zwo|drei|vier|fünf|sechs|sieben|acht|neun|zehn|"
    "elf|zwölf",
    few="ein paar,paar,einigen,einige,wenigen,mehreren",
    ago_before="vor",
    ahead_before="in",
    begin="anfang,beginn,am anfang,anfangs",
    middle="mitte",
    end="ende",
    weeks="ersten woche,erste woche|zweiten woche,zweite woche|dritten woche,dritte woche|"
    "vierten woche,vierte woche|letzten woche im,letzten woche des",
    firsts="ersten,erste,erster|zweiten,zweite,zweiter|dritten,dritte,dritter|vierten,vierter|"
    "fünften,fünfter|sechsten,sechster|siebten,siebter|achten,achter|neunten,neunter|"
    "zehnten,zehnter|elften,elfter|zwölften,zwölfter",
    on="am,vom,im,bis,nach,ab,zwischen,während,an",
    since="seit",
    toward="auf,für,zum",
    of="der,die,das,den,dem,des",
    to="und",
    nothing="guten morgen,am morgen,der morgen,den morgen,dem morgen,jeden morgen,nächsten morgen,"
    "am nächsten morgen,am anderen morgen,schönen morgen",
    nouns="morgen",
    tense=Tense(
        past="war,waren,warst,hatte,hatten,hattest,wurde,wurden,ging,gingen,kam,kamen,sah,sahen,"
        "traf,trafen,fuhr,fuhren,rief,riefen,gab,gaben,nahm,nahmen,sagte,sagten,machte,machten,"
        "kaufte,kauften,musste,mussten,konnte,konnten,wollte,wollten,durfte,durften,fand,fanden,"
        "blieb,blieben,lief,liefen,schrieb,schrieben,aß,aßen,trank,tranken,flog,flogen,bekam,"
        "bekamen,begann,begannen,starb,starben,verlor,verloren,vergaß,sprach,sprachen,half,hielt,"
        "ließ,lag,saß,schlief,zog,zogen,gewesen,besuchte,besuchten,erzählte,erzählten,passierte,"
        "feierte,feierten,telefonierte,arbeitete,spielte,zeigte,fragte,meldete,holte,brachte",
        perfect="habe,hab,hast,hat,haben,habt,bin,bist,ist,sind,seid",
        participle=r"[a-zäöüß]{0,6}ge[a-zäöüß]{3,}(?:t|en)|getan|gewesen|"
        r"(?:be|ver|er|ent|zer|miss|unter|über|wieder)[a-zäöüß]{2,}t|[a-zäöüß]+iert|"
        r"(?:be|er|ver|ent|ge|unter|über)(?:kommen|halten|gessen|loren|gonnen|standen|schoben|"
        r"schrieben|schieden|schlossen|funden|nommen|worben|sprochen|trieben|stohlen|brannt)",
        not_past="geplant,gebucht,vorgesehen,geschlossen,geöffnet,gegenüber,gesetzt,"
        "überhaupt,verabredet,gerade,eingeladen,bekannt,angesetzt",
        near=0,
        future="wird,werde,werden,wirst,werdet,möchte,will,wollen,demnächst,geplant",
        present="ist,sind,bin,habe,hab,hat,haben,muss,müssen,soll,sollen,kann,können,kommt,kommen,"
        "geht,gehen,gehe,fahre,fahren,fährt,fliege,fliegen,beginnt,findet,treffe,treffen,gibt,"
        "steht,bringt,holt,macht,machen,mache,darf",
    ),
)

_ES = Language(
    name="es",
    common="el,la,los,las,y,que,mi,con,un,una,en,es,fue,no,se,por,para,qué,cuándo,yo,he,tengo,"
    "del,al,lo,nos,su,está,quién,dónde,como,muy",
    relative={
        "hoy": 0,
        "esta mañana": 0,
        "esta tarde": 0,
        "esta noche": 0,
        "ayer": -1,
        "anoche": -1,
        "anteayer": -2,
        "antier": -2,
        "antes de ayer": -2,
        "anteanoche": -2,
        "mañana": 1,
        "mañana por la mañana": 1,
        "pasado mañana": 2,
        "recientemente": (-30, 0),
        "últimamente": (-30, 0),
        "el otro día": (-14, -1),
    },
    weekdays="lunes|martes|miércoles,miercoles|jueves|viernes|sábado,sabado|domingo",
    short_weekdays="lun|mar|mié|jue|vie|sáb|dom",
    months="enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre,setiembre|octubre|"
    "noviembre|diciembre",
    short_months="?ene|feb|?mar|?abr|?may|jun|jul|?ago|sep,sept|oct|nov|?dic",
    doubtful_months="abril,julio,mayo",
    last="pasado,pasada,último,última,últimos,últimas,ultimo,ultima,anterior",
    before_last="antepasado,antepasada",
    next="siguiente",
    coming="próximo,próxima,próximos,próximas,proximo,proxima,que viene,que entra",
    this="este,esta,estos",
    every="cada,todos los,los,todas las,las",
    day="día,días,dia,dias",
    week="semana,semanas",
    weekend="fin de semana,finde",
    month="mes,meses",
    year="año,años",
    seasons="primavera|verano|otoño|invierno",
    counts="un,una,uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce",
    few="unos,unas,unos pocos,unos cuantos,unas cuantas,algunos,algunas,un par de,varios,varias",
    ago_before="hace,hace ya,hace como,hace unos",
    ago_after="atrás",
    ahead_before="dentro de,en",
    begin="principios,a principios,comienzos,a comienzos,inicios,a inicios,principio,inicio",
    middle="mediados,a mediados",
    end="finales,a finales,fines,a fines,fin,final",
    weeks="primera semana|segunda semana|tercera semana|cuarta semana|última semana de",
    firsts="primero",
    on="el,del,al,durante,antes del,después del,hacia",
    since="desde,desde el",
    toward="para,para el,hasta,hasta el,a partir de,a partir del",
    of="de,del,la,el",
    to="a,al,y",
    nothing="por la mañana,la mañana,de la mañana,cada mañana,una mañana,el mañana,viernes santo,"
    "domingo de ramos,domingo de resurrección,santo domingo",
    tense=Tense(
        past="fui,fue,fuimos,fueron,hice,hizo,hicimos,hicieron,tuve,tuvo,tuvimos,tuvieron,estuve,"
        "estuvo,estuvimos,estuvieron,vi,vio,vimos,vieron,dije,dijo,dijeron,vine,vino,vinieron,"
        "puse,puso,pude,pudo,quise,quiso,supe,supo,di,dio,dieron,era,eran,estaba,estaban,tenía,"
        "había,hacía,iba,iban,quería,vivía,conocí,conoció,traje,trajo,nació,nací,murió,encontré,"
        "compré,entré,miré,preparé,esperé,tiré,encontramos,compramos",
        past_ending=r"[a-zñáéíóúü]{2,}(?:[^r]é|ó|í|aste|iste|aron|ieron|ábamos|aba|aban)",
        not_past="así,aquí,allí,ahí,café,josé,también,bebé,qué,porqué,sí,mí,casi,sé,estará",
        perfect="he,ha,hemos,han,has,había,habían",
        participle=r"[a-zñáéíóú]{1,}(?:ado|ido|ído)|visto|hecho|dicho|puesto|escrito|vuelto|roto|"
        r"abierto|muerto|sido",
        near=2,
        future="voy,vas,va,vamos,van,mañana,será,tendré,tendrá,haré,iré,podré,vendré,saldré",
        future_ending=r"[a-zñ]{2,}(?:[aei]r(?:é|á|án|emos|ás)|dr(?:é|á|án|emos))",
        present="es,son,está,están,tengo,tiene,tenemos,tienen,hay,viene,vienen,empieza,toca,llega,"
        "sale,quiero,quiere,debo,debe,puedo,puede,queda,cae,vuelvo,vuelve,llego,salgo",
    ),
)

_FR = Language(
    name="fr",
    common="je,j,le,la,les,et,est,il,elle,on,nous,mon,ma,avec,un,une,des,du,au,que,qui,qu,ai,pas,"
    "pour,c,sur,dans,quand,où,avons,sommes,suis,était,chez,mes,tu,vous,ce,ils",
    relative={
        "aujourd hui": 0,
        "ce matin": 0,
        "cet après midi": 0,
        "ce soir": 0,
        "cette nuit": 0,
        "?hier": -1,
        "hier soir": -1,
        "hier matin": -1,
        "avant hier": -2,
        "demain": 1,
        "après demain": 2,
        "récemment": (-30, 0),
        "dernièrement": (-30, 0),
        "l autre jour": (-14, -1),
    },
    weekdays="lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche",
    short_weekdays="lun|mar|mer|jeu|ven|sam|dim",
    months="janvier|février,fevrier|mars|avril|mai|juin|juillet|août,aout|septembre|octobre|"
    "novembre|décembre,decembre",
    short_months="janv|févr,fév||?avr|||juil|?aoû|sept|oct|nov|déc",
    doubtful_months="mars,avril,mai",
    last="dernier,dernière,derniers,dernières,passé,passée,précédent,précédente",
    next="suivant,suivante",
    coming="prochain,prochaine,prochains,prochaines,qui vient",
    this="ce,cette,cet",
    every="chaque,tous les,toutes les,les",
    day="jour,jours",
    week="semaine,semaines",
    weekend="week end,weekend",
    month="mois",
    year="an,ans,année,années",
    seasons="printemps|été|automne|hiver",
    counts="un,une|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze",
    few="quelques,plusieurs",
    ago_before="il y a,y a,voilà",
    ahead_before="dans,d ici",
    begin="début,au début,le début",
    middle="mi,la mi,à la mi,milieu,au milieu",
    end="fin,à la fin,la fin",
    weeks="première semaine|deuxième semaine|troisième semaine|quatrième semaine|"
    "dernière semaine de,dernière semaine d",
    firsts="premier",
    on="le,en,au,du,durant,pendant,vers,avant le,après le,avant,après",
    since="depuis,depuis le",
    toward="pour,pour le,jusqu au,jusqu à,à partir du",
    of="de,du,d,la,le,l",
    to="à,et",
    nothing="vendredi saint,mardi gras,lundi de pâques,dimanche de pâques,mercredi des cendres",
    habit=True,
    tense=Tense(
        past="était,étaient,étais,étions,avait,avais,avaient,avions,fut,allait,faisait,voulait,"
        "devait,pouvait,fallait",
        perfect="ai,as,a,avons,avez,ont,suis,es,est,sommes,êtes,sont",
        participle=r"[a-zéèêçâîôû]+(?:é|ée|és|ées)|(?:vu|lu|bu|su|pu|dû|eu|reçu|venu|tenu|perdu|"
        r"vendu|rendu|attendu|entendu|répondu|descendu|couru|vécu|connu|paru|revenu|devenu|"
        r"obtenu|rompu|voulu|cru)(?:e|s|es)?|(?:fini|dormi|parti|sorti|choisi|senti|servi|"
        r"suivi|réussi|grandi|nourri)(?:e|s|es)?|fait|dit|écrit|mis|pris|appris|compris|promis|"
        r"ouvert|offert|découvert|conduit|mort|morte|été",
        not_past="café,ciné,prévu,prévue,fermé,fermée,été",
        future="vais,vas,va,allons,allez,vont,demain,sera,seront,serai,aura,aurai,aurons,ira,irai,"
        "fera,ferai,viendra,viendrai,prévu,prévue",
        future_ending=r"[a-zéèêçâîôû]{2,}(?:erai|era|erons|eront|irai|ira|irons|iront)",
        present="est,sont,ai,a,avons,ont,suis,dois,doit,vient,viennent,commence,faut,peux,peut,"
        "arrive,part,pars,veux,passe,reste",
    ),
)

_IT = Language(
    name="it",
    common="il,la,lo,gli,e,di,che,è,con,mio,mia,ho,ha,non,un,una,sono,per,cosa,quando,del,della,"
    "al,alla,nel,chi,dove,mi,ci,abbiamo,io,si,da,era,come",
    relative={
        "oggi": 0,
        "stamattina": 0,
        "stamani": 0,
        "questa mattina": 0,
        "stasera": 0,
        "questa sera": 0,
        "stanotte": 0,
        "ieri": -1,
        "ieri sera": -1,
        "l altro ieri": -2,
        "ieri l altro": -2,
        "avantieri": -2,
        "domani": 1,
        "domani sera": 1,
        "domani mattina": 1,
        "dopodomani": 2,
        "dopo domani": 2,
        "recentemente": (-30, 0),
        "ultimamente": (-30, 0),
        "l altro giorno": (-14, -1),
    },
    weekdays="lunedì,lunedi|martedì,martedi|mercoledì,mercoledi|giovedì,giovedi|venerdì,venerdi|"
    "sabato|domenica",
    short_weekdays="lun|mar|mer|gio|ven|sab|dom",
    months="gennaio|febbraio|marzo|aprile|maggio|giugno|luglio|agosto|settembre|ottobre|novembre|"
    "dicembre",
    short_months="?gen|feb|?mar|apr|?mag|?giu|?lug|?ago|?set|?ott|nov|?dic",
    last="scorso,scorsa,scorsi,scorse,passato,passata,ultimo,ultima,ultimi,ultime,precedente",
    next="seguente,successivo,successiva",
    coming="prossimo,prossima,prossimi,prossime,che viene",
    this="questo,questa,quest",
    every="ogni,tutti i,tutte le",
    day="giorno,giorni",
    week="settimana,settimane",
    weekend="fine settimana,weekend,week end",
    month="mese,mesi",
    year="anno,anni",
    seasons="primavera|estate|autunno|inverno",
    counts="un,una,uno|due|tre|quattro|cinque|sei|sette|otto|nove|dieci|undici|dodici",
    few="qualche,alcuni,alcune,un paio di,pochi,poche,diversi,diverse",
    ago_after="fa,or sono",
    ahead_before="fra,tra",
    begin="inizio,all inizio,l inizio,inizi,agli inizi,primi,ai primi",
    middle="metà,a metà",
    end="fine,alla fine,la fine",
    weeks="prima settimana|seconda settimana|terza settimana|quarta settimana|ultima settimana di",
    firsts="primo",
    on="il,a,in,nel,nell,ad,al,lo,l,dello,durante,verso,prima del,dopo il,del",
    since="dal,da,dall",
    toward="per,per il,entro,entro il,fino a,fino al,a partire dal",
    of="di,del,della,dell,d,i,il,gli,le,la,negli,nelle,nei",
    to="e,ed",
    nothing="venerdì santo,mercoledì delle ceneri,domenica delle palme,di lunedì,di martedì,"
    "di mercoledì,di giovedì,di venerdì,di sabato,di domenica,alla fine",
    habit=True,
    tense=Tense(
        past="ero,era,erano,eravamo,avevo,aveva,avevamo,avevano,andavo,andava,facevo,faceva,volevo,"
        "voleva,dovevo,doveva,fu,fece,disse,venne",
        perfect="ho,hai,ha,abbiamo,avete,hanno,sono,sei,è,siamo,siete",
        participle=r"[a-zàèéìòù]+(?:at|ut|it)[oaie]|(?:vist|fatt|dett|pres|mess|scritt|lett|pers|"
        r"rott|chiest|scelt|apert|chius|mort|spes|decis|rimast|compres|corrett|cott|offert|rispost|"
        r"tolt|vint|viss|pianta|pers|nat|accolt|promess)[oaie]",
        not_past="sabato,mercato,gelato,marito,invito,subito,aiuto,minuti,minuto,fissato,fissata,"
        "previsto,prevista,prenotato,malato,malata,sposato,sposata,vita,data,gita,visita",
        future="sarà,saranno,farò,farà,andrò,andrà,andremo,verrà,verranno,avrò,avrà,domani,dovrò",
        future_ending=r"[a-zàèéìòù]{2,}(?:erò|erà|eremo|eranno|irò|irà|iremo|iranno|drò|drà|dremo)",
        present="è,sono,ho,ha,abbiamo,hanno,devo,deve,viene,vengono,comincia,inizia,c,posso,può,"
        "vado,va,andiamo,arriva,parto,parte,torna,vediamo,incontro",
    ),
)

_PT = Language(
    name="pt",
    common="o,a,os,as,e,que,meu,minha,com,um,uma,em,no,na,do,da,é,foi,não,eu,ele,ela,para,quando,"
    "tenho,se,ao,nos,por,está,quem,onde,você,fui,vou,dos,das",
    relative={
        "hoje": 0,
        "esta manhã": 0,
        "esta noite": 0,
        "hoje à noite": 0,
        "ontem": -1,
        "ontem à noite": -1,
        "anteontem": -2,
        "antes de ontem": -2,
        "amanhã": 1,
        "amanhã à noite": 1,
        "depois de amanhã": 2,
        "recentemente": (-30, 0),
        "ultimamente": (-30, 0),
        "outro dia": (-14, -1),
        "no outro dia": (-14, -1),
    },
    weekdays="segunda feira|terça feira,terca feira|quarta feira|quinta feira|sexta feira|"
    "sábado,sabado|domingo",
    short_weekdays="?segunda|?terça|?quarta|?quinta|?sexta|sáb|dom",
    months="janeiro|fevereiro|março,marco|abril|maio|junho|julho|agosto|setembro|outubro|novembro|"
    "dezembro",
    short_months="jan|?fev|?mar|?abr|?mai|jun|jul|?ago|?set|?out|nov|?dez",
    doubtful_months="abril,marco",
    last="passado,passada,passados,último,última,últimos,últimas,anterior",
    before_last="retrasado,retrasada",
    next="seguinte",
    coming="próximo,próxima,próximos,próximas,que vem",
    this="este,esta,neste,nesta,deste,desta,nessa,nesse,essa,esse",
    every="cada,toda,todo,todas as,todos os,todas,às,aos,nas",
    day="dia,dias",
    week="semana,semanas",
    weekend="fim de semana,final de semana,fins de semana",
    month="mês,meses",
    year="ano,anos",
    seasons="primavera|verão|outono|inverno",
    counts="um,uma|dois,duas|três,tres|quatro|cinco|seis|sete|oito|nove|dez|onze|doze",
    few="uns,umas,alguns,algumas,poucos,poucas,vários,várias,um par de",
    ago_before="há,faz,há cerca de",
    ago_after="atrás",
    ahead_before="em,daqui a,dentro de",
    begin="início,no início,começo,no começo,princípio,no princípio",
    middle="meados,em meados,meio",
    end="fim,no fim,final,no final,finais",
    weeks="primeira semana|segunda semana|terceira semana|quarta semana|última semana de",
    firsts="primeiro",
    on="no,na,ao,durante,antes de,depois de",
    since="desde,desde o,desde a",
    toward="para,para o,para a,até,até o,até a,a partir de",
    of="de,do,da,o,a,no",
    to="e",
    nothing="sexta feira santa,quarta feira de cinzas,domingo de ramos,segunda vez,segunda parte,"
    "segunda mão,segunda opção,terça parte,quarta vez,quinta vez,sexta vez,segunda guerra,"
    "quarta parte,segunda chance,segunda casa",
    tense=Tense(
        past="fui,foi,fomos,foram,fiz,fez,fizemos,fizeram,tive,teve,tivemos,tiveram,estive,esteve,estivemos,estiveram,"
        "vi,viu,vimos,viram,disse,disseram,vim,veio,vieram,pus,pôs,pude,pôde,quis,dei,deu,deram,"
        "era,eram,estava,estavam,tinha,tinham,ia,iam,trouxe,soube,houve,nasci,nasceu,tirei,"
        "conheci,encontrei,comprei",
        past_ending=r"[a-zãõáéíóúâêôç]{2,}(?:[^r]ei|ou|[^m-u]eu|iu|aram|eram|iram|ávamos|ava|avam)",
        not_past="sou,estou,vou,dou,museu,europeu,hebreu,ateu,outou,seu,meu,céu",
        future="vou,vai,vamos,vão,vais,amanhã,será,serão,terei,terá,irei,irá,farei,fará",
        future_ending=r"[a-zãõáéíóúâêôç]{2,}[aei](?:rei|rá|rão|remos)",
        present="é,são,está,estão,tenho,tem,temos,têm,há,vem,vêm,começa,preciso,precisa,posso,"
        "pode,devo,deve,chega,sai,fica,cai,volta",
    ),
)

_NL = Language(
    name="nl",
    common="ik,de,het,een,en,is,was,mijn,we,wij,niet,met,van,heb,heeft,op,hij,zij,ze,zijn,dat,die,"
    "voor,wat,wanneer,wie,waar,ben,naar,te,aan,er,ook,ons,hebben,had,je,om",
    relative={
        "vandaag": 0,
        "vanmorgen": 0,
        "vanochtend": 0,
        "vanmiddag": 0,
        "vanavond": 0,
        "vannacht": 0,
        "gisteren": -1,
        "gisteravond": -1,
        "gisterenavond": -1,
        "gistermiddag": -1,
        "gisterochtend": -1,
        "afgelopen nacht": -1,
        "eergisteren": -2,
        "morgen": 1,
        "morgenavond": 1,
        "morgenochtend": 1,
        "morgenmiddag": 1,
        "overmorgen": 2,
        "onlangs": (-30, -1),
        "laatst": (-30, -1),
        "pas geleden": (-30, -1),
        "de laatste tijd": (-30, 0),
    },
    weekdays=_with_parts_of_day(
        "maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag",
        "ochtend,morgen,middag,namiddag,avond,nacht",
    ),
    short_weekdays="ma|di|wo|do|vr|za|zo",
    months="januari|februari|maart|april|mei|juni|juli|augustus|september|oktober|november|"
    "december",
    short_months="jan|feb|?mrt|apr||jun|jul|aug|sep,sept|okt|nov|dec",
    doubtful_months="april,mei",
    last="vorige,vorig,afgelopen,laatste,verleden",
    next="volgende,volgend",
    coming="komende,komend,aanstaande,aankomende",
    this="deze,dit",
    every="elke,elk,iedere,ieder,alle",
    day="dag,dagen",
    week="week,weken",
    weekend="weekend,weekeinde",
    month="maand,maanden",
    year="jaar,jaren",
    seasons="lente,voorjaar|zomer|herfst,najaar|winter",
    counts="een,één|twee|drie|vier|vijf|zes|zeven|acht|negen|tien|elf|twaalf",
    few="een paar,paar,enkele,enige",
    ago_after="geleden,terug",
    ahead_before="over,binnen",
    begin="begin,aan het begin",
    middle="half,midden,medio",
    end="eind,einde,aan het einde,aan het eind",
    weeks="eerste week|tweede week|derde week|vierde week|laatste week van",
    firsts="eerste",
    on="op,in,vanaf,tijdens,rond,na,tussen,van,ter",
    since="sinds,sedert",
    toward="voor,tot,tegen,naar",
    of="van,de,het,den,der",
    to="en,tot en met",
    nothing="goede vrijdag,witte donderdag,blauwe maandag,goede morgen,de morgen,elke morgen,"
    "aswoensdag,tweede paasdag",
    tense=Tense(
        past="was,waren,had,hadden,ging,gingen,kwam,kwamen,zag,zagen,deed,deden,kreeg,kregen,at,"
        "aten,sprak,spraken,belde,belden,kocht,kochten,bracht,dacht,vond,vonden,gaf,gaven,nam,"
        "namen,liep,liepen,reed,reden,viel,vielen,bleef,bleven,ontmoette,werkte,woonde,maakte,"
        "moest,moesten,kon,konden,wilde,wilden,zei,zeiden,vertelde,werd,werden,schreef,sliep,"
        "dronk,vloog,verloor,vergat,stierf,begon,hielp,bezocht,bezochten,speelde,vroeg",
        perfect="heb,hebt,heeft,hebben,ben,bent,is,zijn",
        participle=r"[a-zéëï]{0,6}ge[a-zéëï]+(?:d|t|en|aan)|"
        r"(?:be|ver|ont|her)[a-zéëï]{2,}(?:d|t)|(?:be|ver|ont|her)(?:gonnen|loren|geten|vangen|"
        r"komen|staan|sproken|kregen)|geweest|overleden",
        not_past="gepland,gesloten,getrouwd,geen,geboekt,bekend,gewend,gereserveerd,verjaard",
        near=0,
        future="zal,zullen,zult,ga,gaat,gaan,morgen,wordt,worden,wil,willen",
        present="is,zijn,ben,heb,heeft,hebben,moet,moeten,komt,komen,begint,kan,kunnen,mag,staat",
    ),
)

_RU = Language(
    name="ru",
    common="я,и,в,не,на,что,мы,он,она,с,мой,моя,у,это,был,была,к,по,меня,когда,кто,где,нас,мне",
    relative={
        "сегодня": 0,
        "сегодня утром": 0,
        "сегодня вечером": 0,
        "вчера": -1,
        "вчера вечером": -1,
        "позавчера": -2,
        "завтра": 1,
        "послезавтра": 2,
        "недавно": (-30, -1),
        "на днях": (-14, 0),
    },
    weekdays="понедельник,понедельника|вторник,вторника|среда,среду,среды|четверг,четверга|"
    "пятница,пятницу,пятницы|суббота,субботу,субботы|воскресенье,воскресенья",
    months="январь,января,январе|февраль,февраля,феврале|март,марта,марте|апрель,апреля,апреле|"
    "май,мая,мае|июнь,июня,июне|июль,июля,июле|август,августа,августе|"
    "сентябрь,сентября,сентябре|октябрь,октября,октябре|ноябрь,ноября,ноябре|"
    "декабрь,декабря,декабре",
    doubtful_months="марта,мая",
    last="прошлый,прошлую,прошлое,прошлой,прошлом,прошлого,прошлая,минувшую,последние",
    next="следующий,следующую,следующее,следующей,следующем,следующего",
    coming="ближайший,ближайшую,ближайшее,будущий,будущую,будущем",
    this="этот,эту,это,этой,этом,этого",
    every="каждый,каждую,каждое,по",
    day="день,дня,дней",
    week="неделя,неделю,недели,неделе,недель",
    weekend="выходные,выходных",
    month="месяц,месяца,месяцев,месяце",
    year="год,года,году,лет",
    seasons="весна,весной,весну,весны|лето,летом,лета|осень,осенью,осени|зима,зимой,зиму,зимы",
    counts="один,одну|два,две|три|четыре|пять|шесть|семь|восемь|девять|десять|одиннадцать|"
    "двенадцать",
    few="несколько,пару",
    ago_after="назад",
    ahead_before="через",
    begin="начало,начале,в начале",
    middle="середина,середине,в середине",
    end="конец,конце,в конце",
    weeks="первая неделя,первую неделю,первой неделе|вторую неделю,второй неделе|"
    "третью неделю,третьей неделе|четвертую неделю|последнюю неделю,последней неделе",
    firsts="первого",
    on="в,во,на,до,после,около",
    since="с,со",
    toward="к,ко",
    of="числа",
    to="по,и",
    nothing="окружающую среду,окружающая среда,окружающей среды,восьмое марта",
    tense=Tense(
        past_ending=r"[а-яё]+(?:л|ла|ло|ли|лся|лась|лось|лись)",
        not_past="стол,школа,дела,дело,если,или,около,мало,тело,село,стекло,зал,отдел,угол,пол,"
        "неделя,гол,тепло,число,начало,масло,сила,ли,мила",
        future="буду,будет,будем,будут,будешь,будете,завтра",
        present="есть,иду,идём,идет,идёт,надо,нужно,должен,должна,еду,едем,едет",
    ),
)

_TR = Language(
    name="tr",
    common="ve,bir,bu,ben,için,ile,çok,ne,benim,da,de,mi,var,ama,biz,o,gün,günü,değil,zaman,nerede",
    relative={
        "bugün": 0,
        "bu sabah": 0,
        "bu akşam": 0,
        "bu gece": 0,
        "dün": -1,
        "dün gece": -1,
        "dün akşam": -1,
        "evvelsi gün": -2,
        "önceki gün": -2,
        "yarın": 1,
        "yarın akşam": 1,
        "öbür gün": 2,
        "yarından sonra": 2,
        "geçenlerde": (-30, -1),
        "son zamanlarda": (-30, 0),
    },
    weekdays="pazartesi,pazartesi günü|salı günü,salı|çarşamba,çarşamba günü|"
    "perşembe,perşembe günü|cuma günü,cuma|cumartesi,cumartesi günü|pazar günü",
    months="ocak|şubat|mart|nisan|mayıs|haziran|temmuz|ağustos|eylül|ekim|kasım|aralık",
    doubtful_months="ocak,mart,nisan,ekim,kasım,eylül,aralık",
    last="geçen,geçtiğimiz,son,önceki",
    next="gelecek",
    coming="önümüzdeki",
    this="bu",
    every="her",
    day="gün",
    week="hafta",
    weekend="hafta sonu",
    month="ay",
    year="yıl,sene",
    seasons="ilkbahar,bahar|yaz|sonbahar,güz|kış",
    counts="bir|iki|üç|dört|beş|altı|yedi|sekiz|dokuz|on|on bir|on iki",
    few="birkaç,bir kaç",
    ago_after="önce",
    ahead_after="sonra",
    begin="",
    middle="",
    end="",
    weeks="",
    firsts="",
    on="",
    since="",
    toward="",
    of="",
    to="ve",
    nothing="",
    tense=Tense(
        past_ending=r"[a-zçğıöşü]{2,}[dt][ıiuü](?:m|k|n|lar|ler|nız|niz|nuz|nüz)?",
        not_past="şimdi,kendi,haydi,hadi,yedi,yıldı,adım,kendim,altı,tatlı,kedi,kredi",
        future="yarın",
        future_ending=r"[a-zçğıöşü]{2,}(?:acak|ecek|acağ|eceğ)[a-zçğıöşü]{0,4}",
        present="var,yok",
    ),
)

LANGUAGES = (_EN, _DE, _ES, _FR, _IT, _PT, _NL, _RU, _TR)
