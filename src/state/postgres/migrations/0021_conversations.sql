-- A conversation without its items.
CREATE TABLE antiphon.conversations (
  owner text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  -- As JSON.
  metadata text NOT NULL,
  -- Grows with every change of its items.
  version bigint NOT NULL,
  -- The position of the next item.
  end_position bigint NOT NULL,
  -- Bytes of its items, so that they can be bounded before they are read.
  items_size bigint NOT NULL,
  -- It stays as long as there are responses that were made in it.
  is_deleted boolean NOT NULL DEFAULT false,
  PRIMARY KEY (owner, id)
);
