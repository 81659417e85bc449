-- The responses of a session, in order. A fork shares responses of another session.
CREATE TABLE antiphon.session_responses (
  owner text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  response_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (owner, session_id, created_at, response_id),
  FOREIGN KEY (owner, response_id) REFERENCES antiphon.responses (owner, id) ON DELETE CASCADE
);
