CREATE TABLE kept (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
-- two rows if this were applied twice; the ; here ends nothing
INSERT INTO booked VALUES ('0001_kept.sql; applied', '');
