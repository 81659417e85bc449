CREATE INDEX responses_by_creation ON antiphon.responses (owner, created_at, id);
