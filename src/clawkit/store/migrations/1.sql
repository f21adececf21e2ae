-- The tables, one text for both databases. Words in capitals with a % are types that the two name
-- differently. A Being is a number in here. Times are seconds since 1970. Rows of `nodes` keep their
-- words for ever, and postings and vectors are made from them and can be made anew.

CREATE TABLE beings (
    n %SERIAL%,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    created %REAL% NOT NULL,
    top INTEGER NOT NULL DEFAULT 0,
    words %BIGINT% NOT NULL DEFAULT 0,
    last_ledger INTEGER NOT NULL DEFAULT 0,
    llm_key %BLOB%
);

CREATE TABLE tokens (
    hash TEXT PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    being INTEGER NOT NULL REFERENCES beings (n) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    scope TEXT NOT NULL,
    label TEXT NOT NULL,
    created %REAL% NOT NULL,
    expires %REAL%,
    revoked %REAL%,
    used %REAL%
);
CREATE INDEX tokens_of_being ON tokens (being);

CREATE TABLE nodes (
    being INTEGER NOT NULL REFERENCES beings (n) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    scene TEXT NOT NULL,
    action TEXT NOT NULL,
    created %REAL% NOT NULL,
    speaker TEXT NOT NULL,
    token TEXT NOT NULL,
    conversation TEXT NOT NULL,
    cluster INTEGER NOT NULL,
    status TEXT NOT NULL,
    fresh INTEGER NOT NULL,
    pinned INTEGER NOT NULL,
    importance %REAL% NOT NULL,
    session_count INTEGER NOT NULL,
    reactivation_count INTEGER NOT NULL,
    last_activated %REAL% NOT NULL,
    ended %REAL%,
    ending TEXT NOT NULL DEFAULT '',
    successor INTEGER,
    said TEXT NOT NULL,
    PRIMARY KEY (being, seq)
);
CREATE UNIQUE INDEX nodes_by_id ON nodes (being, id);
CREATE INDEX nodes_by_cluster ON nodes (being, cluster, status);
CREATE INDEX nodes_by_status ON nodes (being, status, seq);
CREATE INDEX nodes_by_words ON nodes (being, said);
CREATE INDEX nodes_recent ON nodes (being, last_activated);
CREATE INDEX nodes_ended ON nodes (being, seq) WHERE ended IS NOT NULL;

CREATE TABLE postings (
    being INTEGER NOT NULL REFERENCES beings (n) ON DELETE CASCADE,
    term TEXT NOT NULL,
    block INTEGER NOT NULL,
    size INTEGER NOT NULL,
    data %BLOB% NOT NULL,
    PRIMARY KEY (being, term, block)
) %CLUSTERED%;

CREATE TABLE clusters (
    being INTEGER NOT NULL REFERENCES beings (n) ON DELETE CASCADE,
    n INTEGER NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    parent INTEGER,
    digest TEXT NOT NULL,
    model TEXT NOT NULL DEFAULT '',
    vector %BLOB%,
    gone %REAL%,
    PRIMARY KEY (being, n)
);

CREATE TABLE notes (
    being INTEGER NOT NULL REFERENCES beings (n) ON DELETE CASCADE,
    id TEXT NOT NULL,
    created %REAL% NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    speaker TEXT NOT NULL,
    token TEXT NOT NULL,
    conversation TEXT NOT NULL,
    taken INTEGER,
    PRIMARY KEY (being, id)
);
CREATE INDEX notes_waiting ON notes (being, kind, created) WHERE taken IS NULL;

CREATE TABLE entries (
    being INTEGER NOT NULL REFERENCES beings (n) ON DELETE CASCADE,
    id TEXT NOT NULL,
    target TEXT NOT NULL,
    name TEXT NOT NULL,
    content TEXT NOT NULL,
    at %REAL% NOT NULL,
    token TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (being, id)
);
CREATE INDEX entries_of_target ON entries (being, target, at);

CREATE TABLE messages (
    being INTEGER NOT NULL REFERENCES beings (n) ON DELETE CASCADE,
    id TEXT NOT NULL,
    at %REAL% NOT NULL,
    role TEXT NOT NULL,
    content TEXT NOT NULL,
    conversation TEXT NOT NULL,
    token TEXT NOT NULL,
    PRIMARY KEY (being, id)
);
CREATE INDEX messages_in_time ON messages (being, at);

CREATE TABLE ledger (
    being INTEGER NOT NULL REFERENCES beings (n) ON DELETE CASCADE,
    n INTEGER NOT NULL,
    at %REAL% NOT NULL,
    kind TEXT NOT NULL,
    why TEXT NOT NULL,
    token TEXT NOT NULL,
    changes %BLOB% NOT NULL,
    undone_by INTEGER,
    PRIMARY KEY (being, n)
);

CREATE TABLE touches (
    being INTEGER NOT NULL REFERENCES beings (n) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    token TEXT NOT NULL,
    times INTEGER NOT NULL,
    last %REAL% NOT NULL,
    PRIMARY KEY (being, seq, token)
);

CREATE TABLE told (
    being INTEGER NOT NULL REFERENCES beings (n) ON DELETE CASCADE,
    conversation TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at %REAL% NOT NULL,
    PRIMARY KEY (being, conversation, seq)
);

CREATE TABLE marks (
    being INTEGER NOT NULL REFERENCES beings (n) ON DELETE CASCADE,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (being, name)
);

CREATE TABLE jobs (
    being INTEGER NOT NULL REFERENCES beings (n) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    wanted %REAL% NOT NULL,
    owner TEXT NOT NULL DEFAULT '',
    until %REAL% NOT NULL DEFAULT 0,
    tries INTEGER NOT NULL DEFAULT 0,
    problem TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (being, kind)
);
