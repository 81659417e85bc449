CREATE INDEX responses_by_model ON antiphon.responses (owner, model, created_at, id);
