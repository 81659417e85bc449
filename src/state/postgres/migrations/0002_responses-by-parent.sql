CREATE INDEX responses_by_parent ON antiphon.responses (owner, parent_id, created_at, id) WHERE parent_id IS NOT NULL;
