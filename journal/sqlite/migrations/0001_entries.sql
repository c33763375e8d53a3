-- One row an operation. Times are microseconds since 1970 in UTC; the year 1 is "no
-- time". Texts that are no valid text are \x and their bytes in hexadecimal. The
-- columns behind the verdict are for people: nothing reads them.
CREATE TABLE idempact_entries (
	id               INTEGER PRIMARY KEY,
	provider         TEXT    NOT NULL COLLATE BINARY,
	account          TEXT    NOT NULL COLLATE BINARY,
	idempotency_key  TEXT    NOT NULL COLLATE BINARY,
	action           TEXT    NOT NULL,
	fingerprint      TEXT    NOT NULL,
	method           TEXT    NOT NULL,
	url              TEXT    NOT NULL,
	request_header   TEXT    NOT NULL,
	request_body     BLOB    NOT NULL,
	request_omitted  INTEGER NOT NULL,
	response_status  INTEGER NOT NULL,
	response_header  TEXT    NOT NULL,
	response_body    BLOB    NOT NULL,
	response_omitted INTEGER NOT NULL,
	first_sent       INTEGER NOT NULL,
	skew_ns          INTEGER NOT NULL,
	lease_holder     TEXT    NOT NULL,
	lease_until      INTEGER NOT NULL,
	version          INTEGER NOT NULL,
	settled          INTEGER NOT NULL CHECK (settled IN (0, 1)),
	due              INTEGER NOT NULL,
	sweeps           INTEGER NOT NULL,
	retain           INTEGER NOT NULL,
	created          INTEGER NOT NULL,
	updated          INTEGER NOT NULL,
	verdict          TEXT    NOT NULL,
	status           TEXT    NOT NULL,
	effect           TEXT    NOT NULL,
	attempts         INTEGER NOT NULL,
	resource         TEXT    NOT NULL,
	state            TEXT    NOT NULL,
	code             TEXT    NOT NULL,
	source           TEXT    NOT NULL,
	reason           TEXT    NOT NULL,
	UNIQUE (provider, account, idempotency_key)
) STRICT;

-- A sweep reads this and the rows that it names, and nothing of what is settled.
CREATE INDEX idempact_unsettled ON idempact_entries (provider, account, due) WHERE NOT settled;

CREATE INDEX idempact_settled ON idempact_entries (updated) WHERE settled;
