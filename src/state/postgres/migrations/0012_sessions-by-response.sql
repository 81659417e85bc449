CREATE INDEX sessions_by_response ON antiphon.session_responses (owner, response_id, session_id);
