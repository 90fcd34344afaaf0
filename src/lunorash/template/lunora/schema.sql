CREATE TABLE reminders (
    id           TEXT PRIMARY KEY,
    text         TEXT NOT NULL,
    delivered_at INTEGER
) STRICT, WITHOUT ROWID;
