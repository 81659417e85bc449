-- Whether a session has room for one more response. Those that are stored at the same time wait for each other until the end of their
-- transactions; the count sees what was committed before.
CREATE FUNCTION antiphon.has_session_room(tenant text, session text, response text, most int, at timestamptz) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('antiphon session ' || tenant || ' ' || session, 0));
  RETURN (SELECT count(*) FROM (
    SELECT FROM antiphon.session_responses s JOIN antiphon.responses r ON r.owner = s.owner AND r.id = s.response_id
    WHERE s.owner = tenant AND s.session_id = session AND s.response_id <> response AND r.expires_at > at LIMIT most
  ) members) < most;
END $$;
