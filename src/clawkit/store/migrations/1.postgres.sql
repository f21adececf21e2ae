CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE spaces (
    being INTEGER NOT NULL REFERENCES beings (n) ON DELETE CASCADE,
    model TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    size INTEGER NOT NULL,
    grown INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (being, model)
);
CREATE TABLE vectors (
    being INTEGER NOT NULL REFERENCES beings (n) ON DELETE CASCADE,
    model TEXT NOT NULL,
    seq INTEGER NOT NULL,
    data halfvec STORAGE MAIN NOT NULL,
    PRIMARY KEY (being, model, seq)
);
