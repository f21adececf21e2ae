-- People whom another server signs in: which of its accounts is whom here, who is expected from it
-- by a checked e-mail address, and the browsers that are on their way to it.

CREATE TABLE login_identities (
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    person TEXT NOT NULL REFERENCES login_people (id) ON DELETE CASCADE,
    email TEXT NOT NULL DEFAULT '',
    by_rule INTEGER NOT NULL DEFAULT 0,
    created %REAL% NOT NULL,
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX login_identities_of_person ON login_identities (person);

CREATE TABLE login_invitations (
    issuer TEXT NOT NULL,
    email TEXT NOT NULL,
    person TEXT NOT NULL REFERENCES login_people (id) ON DELETE CASCADE,
    PRIMARY KEY (issuer, email)
);

CREATE TABLE login_journeys (
    hash TEXT PRIMARY KEY,
    visitor TEXT NOT NULL,
    next TEXT NOT NULL,
    link TEXT NOT NULL,
    expires %REAL% NOT NULL
);

ALTER TABLE login_servers ADD COLUMN issuer TEXT NOT NULL DEFAULT '';
ALTER TABLE login_servers ADD COLUMN signs_in INTEGER NOT NULL DEFAULT 1;
