-- Whose token it is and whether it may write its owner's words, the message that a memory is from,
-- the memory that a scene became before a patrol took it, how much a Being may hold, since when a job
-- waits, how jobs ended, by outcome, how often a Being was called today.

ALTER TABLE tokens ADD COLUMN person TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN owner INTEGER NOT NULL DEFAULT 1;
ALTER TABLE nodes ADD COLUMN message TEXT NOT NULL DEFAULT '';
ALTER TABLE notes ADD COLUMN node INTEGER;
ALTER TABLE beings ADD COLUMN quota TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN since %REAL% NOT NULL DEFAULT 0;

CREATE TABLE runs (
    being INTEGER NOT NULL REFERENCES beings (n) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    outcome TEXT NOT NULL,
    times INTEGER NOT NULL,
    at %REAL% NOT NULL,
    seconds %REAL% NOT NULL,
    PRIMARY KEY (being, kind, outcome)
);

CREATE TABLE calls (
    being INTEGER PRIMARY KEY REFERENCES beings (n) ON DELETE CASCADE,
    day INTEGER NOT NULL,
    times INTEGER NOT NULL
);
