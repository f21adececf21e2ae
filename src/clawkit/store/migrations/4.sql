-- Logins: people with passkeys and passwords, which Beings members may use, the browsers they are
-- signed in with, the clients that ask, and what was granted to them. Whatever opens something is
-- kept as a hash only. A grant without a Being is for a server that has none.

CREATE TABLE login_people (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,
    password TEXT NOT NULL DEFAULT '',
    created %REAL% NOT NULL
);

CREATE TABLE login_passkeys (
    id TEXT PRIMARY KEY,
    person TEXT NOT NULL REFERENCES login_people (id) ON DELETE CASCADE,
    public_key %BLOB% NOT NULL,
    uses %BIGINT% NOT NULL,
    created %REAL% NOT NULL,
    used %REAL%
);
CREATE INDEX login_passkeys_of_person ON login_passkeys (person);

CREATE TABLE login_links (
    hash TEXT PRIMARY KEY,
    person TEXT NOT NULL REFERENCES login_people (id) ON DELETE CASCADE,
    expires %REAL% NOT NULL
);

CREATE TABLE login_beings (
    person TEXT NOT NULL REFERENCES login_people (id) ON DELETE CASCADE,
    being INTEGER NOT NULL REFERENCES beings (n) ON DELETE CASCADE,
    PRIMARY KEY (person, being)
);

CREATE TABLE login_browsers (
    hash TEXT PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    person TEXT NOT NULL REFERENCES login_people (id) ON DELETE CASCADE,
    agent TEXT NOT NULL,
    created %REAL% NOT NULL,
    expires %REAL% NOT NULL
);

CREATE TABLE login_challenges (
    hash TEXT PRIMARY KEY,
    visitor TEXT NOT NULL,
    expires %REAL% NOT NULL
);

CREATE TABLE login_clients (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    redirect_uris TEXT NOT NULL,
    verified INTEGER NOT NULL,
    created %REAL% NOT NULL,
    expires %REAL%
);

CREATE TABLE login_grants (
    id TEXT PRIMARY KEY,
    person TEXT NOT NULL REFERENCES login_people (id) ON DELETE CASCADE,
    client TEXT NOT NULL,
    client_name TEXT NOT NULL,
    resource TEXT NOT NULL,
    scope TEXT NOT NULL,
    being INTEGER REFERENCES beings (n) ON DELETE CASCADE,
    created %REAL% NOT NULL,
    used %REAL% NOT NULL,
    ended %REAL%,
    reason TEXT NOT NULL DEFAULT ''
);
CREATE INDEX login_grants_of_person ON login_grants (person);
CREATE INDEX login_grants_of_being ON login_grants (being);
CREATE INDEX login_grants_of_client ON login_grants (client);

CREATE TABLE login_codes (
    hash TEXT PRIMARY KEY,
    grant_id TEXT NOT NULL,
    client TEXT NOT NULL,
    client_name TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    challenge TEXT NOT NULL,
    person TEXT NOT NULL REFERENCES login_people (id) ON DELETE CASCADE,
    resource TEXT NOT NULL,
    scope TEXT NOT NULL,
    being INTEGER REFERENCES beings (n) ON DELETE CASCADE,
    expires %REAL% NOT NULL,
    used %REAL%
);

CREATE TABLE login_tokens (
    hash TEXT PRIMARY KEY,
    grant_id TEXT NOT NULL REFERENCES login_grants (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    scope TEXT NOT NULL,
    expires %REAL% NOT NULL,
    replaced %REAL%
);
CREATE INDEX login_tokens_of_grant ON login_tokens (grant_id);

CREATE TABLE login_servers (
    origin TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    started %REAL% NOT NULL
);
