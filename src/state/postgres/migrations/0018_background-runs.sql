-- The runs of background responses.
CREATE TABLE antiphon.background_runs (
  owner text COLLATE "C" NOT NULL,
  response_id text COLLATE "C" NOT NULL,
  -- The tenant as JSON: its key may be a digest.
  tenant text NOT NULL,
  -- The turn as JSON, emptied at its end.
  turn text NOT NULL,
  -- Whether clients may read its events.
  is_stream boolean NOT NULL,
  -- The latest attempt: earlier ones may write nothing.
  attempt integer NOT NULL DEFAULT 0,
  -- Attempts that count, without those that were handed back.
  attempts integer NOT NULL DEFAULT 0,
  -- When its events are deleted; null before its end, -infinity once they are.
  log_expires_at timestamptz,
  PRIMARY KEY (owner, response_id),
  FOREIGN KEY (owner, response_id) REFERENCES antiphon.responses (owner, id) ON DELETE CASCADE
);
