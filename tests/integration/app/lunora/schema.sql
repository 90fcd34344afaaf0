-- What mutations have asked for, and what came of it: a job has one row in each, if all is well.
CREATE TABLE booked (tag TEXT NOT NULL, job TEXT NOT NULL) STRICT;

CREATE TABLE effects (
    tag         TEXT NOT NULL,
    job         TEXT,
    incarnation TEXT,
    attempt     INTEGER,
    user_id     TEXT
) STRICT;
