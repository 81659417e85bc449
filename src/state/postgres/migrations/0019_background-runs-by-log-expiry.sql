CREATE INDEX background_runs_by_log_expiry ON antiphon.background_runs (log_expires_at) WHERE log_expires_at > '-infinity';
