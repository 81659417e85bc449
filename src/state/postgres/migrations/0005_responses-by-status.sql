-- Most are completed: to find those the list itself is as good.
CREATE INDEX responses_by_status ON antiphon.responses (owner, status, created_at, id) WHERE status <> 'completed';
