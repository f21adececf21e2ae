CREATE TABLE vectors (
    being INTEGER NOT NULL REFERENCES beings (n) ON DELETE CASCADE,
    model TEXT NOT NULL,
    seq INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (being, model, seq)
);
CREATE TABLE sketches (
    being INTEGER NOT NULL REFERENCES beings (n) ON DELETE CASCADE,
    model TEXT NOT NULL,
    block INTEGER NOT NULL,
    size INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (being, model, block)
);
