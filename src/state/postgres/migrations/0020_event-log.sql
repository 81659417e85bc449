-- The events of background responses, in batches.
CREATE TABLE antiphon.event_log (
  owner text COLLATE "C" NOT NULL,
  response_id text COLLATE "C" NOT NULL,
  -- The number of its first event, or of the event that follows if it has none.
  first_event integer NOT NULL,
  -- How many notes precede it.
  first_note integer NOT NULL,
  -- One event per line.
  events text NOT NULL,
  -- Private records as JSON.
  notes text,
  -- Whether it says something about finished items.
  has_items boolean NOT NULL,
  PRIMARY KEY (owner, response_id, first_event, first_note),
  FOREIGN KEY (owner, response_id) REFERENCES antiphon.background_runs (owner, response_id) ON DELETE CASCADE
);
