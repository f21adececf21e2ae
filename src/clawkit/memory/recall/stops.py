"""Words that say little about what is asked, in several languages."""

from __future__ import annotations

_ENGLISH = """
a an the this that these those there here it its he him his she her hers they them their theirs
we us our ours you your yours i me my mine myself himself herself themselves
and or but nor so if then than as of to in on at by for from with without about into onto over
under after before between during until while because since through against within
am is are was were be been being do does did done doing have has had having will would shall
should can could may might must not no yes don didn doesn isn wasn won couldn wouldn
what which who whom whose when where why how many much often long old kind type sort
some any all both each every other another such more most very too just also only even
up out off down again once ever never still yet already
hey hi hello oh wow yeah yep okay ok well really thanks thank please
tell remember know say said mention mentioned according
s t m re ve ll d
"""
_GERMAN = """
der die das ein eine einer einen einem und oder aber ich du er sie es wir ihr mein dein sein ist
sind war waren hat haben hatte habe wird werden nicht mit von zu im am auf für fur in den dem des
was wer wie wo wann warum welche welcher welches auch noch nur schon
"""
_FRENCH = """
le la les un une des du de et ou mais je tu il elle nous vous ils elles mon ma mes ton ta tes son
sa ses est sont etait a ont avait avec sans pour dans sur au aux ce cette ces qui que quoi quel
quelle quand comment pourquoi ne pas plus aussi
"""
_SPANISH = """
el la los las un una unos unas de del y o pero yo tu el ella nosotros ellos mi su sus es son era
fue ha han habia con sin para por en al que quien cual cuando como donde porque no muy mas tambien
"""
_ITALIAN_PORTUGUESE = """
il lo gli uno della dei e ed ma io lui lei noi voi loro suo sono ho hai abbiamo con per che chi
quando come dove perche non o os as um uma do da dos das em no na nos nas eu ele ela eles meu seu
foi tem com sem para por qual quem onde nao
"""

WORDS_THAT_SAY_LITTLE = frozenset(
    f"{_ENGLISH} {_GERMAN} {_FRENCH} {_SPANISH} {_ITALIAN_PORTUGUESE}".split()
)

# Grammar of Japanese, Chinese and Korean, as pairs of characters.
_PAIRS = """
です ます した まし ませ せん んか すか たか して いる
いた って てい から まで ので のは のが のを のに には
では とは との とか ない なか かっ った たの たん んで
だっ なん なに 何を 何が 何で 何の 何か いつ どこ どん
んな どう だれ 誰が 誰と 誰の 誰に いく くつ どの どれ
なぜ こと もの もう よう ため ある あり あっ れる られ
れた さん ちゃ ゃん くん よね かな だよ だね でし しょ
ょう すが けど これ それ あれ この その あの ここ そこ
私は 私の 僕は 僕の 俺は 彼は 彼女 は何 はど はい が好
什么 怎么 谁的 哪里 哪个 为什 我的 你的 他的 她的 我们
你们 他们 是不 不是 没有 有没 的是 了吗 的吗 一个 这个
那个 습니 니다 니까 했어 었어 였어 는데 에서 에게 으로
무엇 언제 어디 누구 어떤 그리 하고 했나 나요 어요
"""
PAIRS_THAT_SAY_LITTLE = frozenset(_PAIRS.split())
