CREATE INDEX responses_by_expiry ON antiphon.responses (expires_at, owner, id);
