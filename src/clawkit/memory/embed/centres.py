"""What every sentence has in common, so that it can be taken out of its vector.

All sentences of a model lie in one corner of its space, and all questions in another. Taken from
the middle of ordinary remarks, and a question from the middle of ordinary questions, vectors
compare what is said and not how. On a public set of conversations a quarter more was found among
the first ten. The sentences are our own; the middles of thousands of others did no better.
"""

from __future__ import annotations

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
