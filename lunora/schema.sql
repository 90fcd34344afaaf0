CREATE TABLE trials (
    user_id TEXT PRIMARY KEY,
    plan    TEXT NOT NULL,
    state   TEXT NOT NULL CHECK (state IN ('running', 'ended', 'stopped')),
    ends_at INTEGER NOT NULL,
    job_id  TEXT NOT NULL
) STRICT;

CREATE TABLE presence (
    room_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    seen_at INTEGER NOT NULL,
    PRIMARY KEY (room_id, user_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE imported (
    row_id TEXT PRIMARY KEY,
    name   TEXT NOT NULL
) STRICT, WITHOUT ROWID;
