-- A response without its items. Bodies are text and not jsonb, which would reorder members and refuse NUL.
CREATE TABLE antiphon.responses (
  owner text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  -- What it continues, as long as that is still kept.
  parent_id text COLLATE "C",
  -- The session it was made in.
  session_id text COLLATE "C" NOT NULL,
  status text NOT NULL,
  model text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  -- Deleted responses have expired for ever; they stay as long as something continues them.
  expires_at timestamptz NOT NULL,
  -- Digests of metadata, for searches.
  labels text[],
  -- Where the upstream has it, as JSON.
  origin text,
  -- Bytes of the body and the output, so that pages can be bounded before they are read.
  size bigint NOT NULL,
  -- Bytes of its items, so that conversations can be bounded before they are read.
  items_size bigint NOT NULL,
  -- The Response as JSON, its output left empty.
  body text NOT NULL
);
