-- One row an operation. The year 1 is "no time". Texts that are no valid text are \x
-- and their bytes in hexadecimal; COLLATE "C" compares bytes. The columns behind the
-- verdict are for people: nothing reads them.
CREATE TABLE idempact_entries (
	id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	provider         text        NOT NULL COLLATE "C",
	account          text        NOT NULL COLLATE "C",
	idempotency_key  text        NOT NULL COLLATE "C",
	action           text        NOT NULL,
	fingerprint      text        NOT NULL,
	method           text        NOT NULL,
	url              text        NOT NULL,
	request_header   text        NOT NULL,
	request_body     bytea       NOT NULL,
	request_omitted  boolean     NOT NULL,
	response_status  bigint      NOT NULL,
	response_header  text        NOT NULL,
	response_body    bytea       NOT NULL,
	response_omitted boolean     NOT NULL,
	first_sent       timestamptz NOT NULL,
	skew_ns          bigint      NOT NULL,
	lease_holder     text        NOT NULL,
	lease_until      timestamptz NOT NULL,
	version          bigint      NOT NULL,
	settled          boolean     NOT NULL,
	due              timestamptz NOT NULL,
	sweeps           bigint      NOT NULL,
	retain           timestamptz NOT NULL,
	created          timestamptz NOT NULL,
	updated          timestamptz NOT NULL,
	verdict          text        NOT NULL,
	status           text        NOT NULL,
	effect           text        NOT NULL,
	attempts         bigint      NOT NULL,
	resource         text        NOT NULL,
	state            text        NOT NULL,
	code             text        NOT NULL,
	source           text        NOT NULL,
	reason           text        NOT NULL,
	UNIQUE (provider, account, idempotency_key)
);

-- A sweep reads this and the rows that it names, and nothing of what is settled.
CREATE INDEX idempact_unsettled ON idempact_entries (provider, account, due) WHERE NOT settled;

CREATE INDEX idempact_settled ON idempact_entries (updated) WHERE settled;
