-- Who may write to a session now.
CREATE TABLE antiphon.session_locks (
  owner text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  fence bigint NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (owner, session_id)
);
