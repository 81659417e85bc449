-- The files in vector stores. place: in the order in which they were added. claimed_until and attempt: of the process that indexes the file.
CREATE TABLE antiphon.vector_store_files (
  place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  store_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  tenant text NOT NULL,
  created_at bigint NOT NULL,
  batch_id text COLLATE "C",
  status text NOT NULL,
  bytes bigint NOT NULL,
  attempt integer NOT NULL DEFAULT 0,
  claimed_until bigint NOT NULL DEFAULT 0,
  gone_at bigint,
  about text NOT NULL,
  UNIQUE (owner, store_id, id)
);
CREATE INDEX vector_store_files_by_time ON antiphon.vector_store_files (owner, store_id, created_at, id);
CREATE INDEX vector_store_files_by_file ON antiphon.vector_store_files (owner, id);
CREATE INDEX vector_store_files_waiting ON antiphon.vector_store_files (place) WHERE status = 'in_progress' AND gone_at IS NULL;
CREATE INDEX vector_store_files_by_end ON antiphon.vector_store_files (gone_at) WHERE gone_at IS NOT NULL;
-- The batches that have added them.
CREATE TABLE antiphon.vector_store_batches (
  owner text COLLATE "C" NOT NULL,
  store_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  about text NOT NULL,
  PRIMARY KEY (owner, store_id, id)
);
