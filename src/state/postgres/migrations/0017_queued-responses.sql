CREATE INDEX queued_responses ON antiphon.responses (created_at, owner, id) WHERE status = 'queued';
