-- What happened to an operation, as JSON, for people: nothing decides by it.
ALTER TABLE idempact_entries ADD COLUMN history TEXT NOT NULL DEFAULT '';
