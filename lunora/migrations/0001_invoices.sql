CREATE TABLE invoices (
    id      TEXT PRIMARY KEY,
    user_id TEXT NOT NULL,
    plan    TEXT NOT NULL,
    paid_at INTEGER
) STRICT, WITHOUT ROWID;
