-- Where responses stood in their lists that were deleted or have expired, and which lists they were: pages go on behind them for a while.
CREATE TABLE antiphon.bookmarks (
  owner text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  parent_id text COLLATE "C",
  model text COLLATE "C" NOT NULL,
  status text NOT NULL,
  labels text[],
  sessions text[] NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (owner, id)
);
CREATE INDEX bookmarks_by_expiry ON antiphon.bookmarks (expires_at);
