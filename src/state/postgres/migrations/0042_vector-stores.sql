-- Vector stores. about: the record, as JSON; tenant: its name, as JSON. gone_at: when one was deleted; it stays a while as a cursor of lists.
-- Times are ms since the epoch but created_at, which has seconds.
CREATE TABLE antiphon.vector_stores (
  owner text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  tenant text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  gone_at bigint,
  about text NOT NULL,
  PRIMARY KEY (owner, id)
);
CREATE INDEX vector_stores_by_time ON antiphon.vector_stores (owner, created_at, id);
CREATE INDEX vector_stores_by_expiry ON antiphon.vector_stores (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX vector_stores_by_end ON antiphon.vector_stores (gone_at) WHERE gone_at IS NOT NULL;
