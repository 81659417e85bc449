ALTER TABLE antiphon.responses RENAME COLUMN owner TO tenant;
ALTER TABLE antiphon.items RENAME COLUMN owner TO tenant;
ALTER TABLE antiphon.session_responses RENAME COLUMN owner TO tenant;
ALTER TABLE antiphon.session_locks RENAME COLUMN owner TO tenant;
