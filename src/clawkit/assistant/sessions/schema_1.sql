PRAGMA application_id = 1131176311;

CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    origin TEXT NOT NULL,
    named INTEGER NOT NULL,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    title TEXT NOT NULL DEFAULT '',
    chosen_model TEXT NOT NULL DEFAULT '',
    last_model TEXT NOT NULL DEFAULT '',
    epoch INTEGER NOT NULL DEFAULT 0,
    floor INTEGER NOT NULL DEFAULT 0,
    summary TEXT NOT NULL DEFAULT ''
);
CREATE INDEX sessions_idle ON sessions (updated) WHERE NOT named;

CREATE TABLE turns (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    owner TEXT,
    began REAL NOT NULL,
    ended REAL,
    reason TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL DEFAULT '',
    input INTEGER NOT NULL DEFAULT 0,
    output INTEGER NOT NULL DEFAULT 0,
    cached INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX turns_of_session ON turns (session, id);
CREATE INDEX turns_open ON turns (session, id) WHERE owner IS NOT NULL;

CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    turn INTEGER NOT NULL REFERENCES turns ON DELETE CASCADE,
    epoch INTEGER NOT NULL,
    created REAL NOT NULL,
    tokens INTEGER NOT NULL,
    role TEXT NOT NULL,
    parts BLOB NOT NULL
);
CREATE INDEX messages_of_session ON messages (session, id, turn, epoch);
CREATE INDEX messages_of_turn ON messages (turn);

CREATE TABLE images (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    data BLOB NOT NULL
);
CREATE TABLE image_uses (
    message INTEGER NOT NULL REFERENCES messages ON DELETE CASCADE,
    image INTEGER NOT NULL REFERENCES images,
    PRIMARY KEY (message, image)
) WITHOUT ROWID;
CREATE INDEX image_uses_of_image ON image_uses (image);
CREATE TRIGGER image_unused AFTER DELETE ON image_uses
    WHEN NOT EXISTS (SELECT 1 FROM image_uses WHERE image = old.image)
    BEGIN DELETE FROM images WHERE id = old.image; END;

CREATE VIRTUAL TABLE said USING fts5 (words, tokenize = 'porter ascii');

CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    process TEXT NOT NULL,
    status TEXT NOT NULL,
    expires REAL,
    record BLOB NOT NULL
);
CREATE INDEX tasks_expiring ON tasks (expires);

CREATE TABLE notes (name TEXT PRIMARY KEY, value REAL NOT NULL);
