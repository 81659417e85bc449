/** The steps of the schema that make vector stores and their index, as in `MIGRATIONS`. */
export const VECTOR_STORES: readonly string[] = [
  `
  -- Documents of vector stores. attributes: JSON; null until the document is published. names: store and file, as JSON.
  -- Numbers are not used again: a search may have one from before.
  CREATE TABLE vector_documents (
    document INTEGER PRIMARY KEY AUTOINCREMENT,
    owner INTEGER NOT NULL,
    store_id TEXT NOT NULL,
    file_id TEXT NOT NULL,
    names TEXT NOT NULL,
    attributes TEXT,
    UNIQUE (owner, store_id, file_id)
  ) STRICT;

  -- text is JSON, so that every text can be read back; vector: floats, little-endian.
  CREATE TABLE vector_chunks (
    chunk INTEGER PRIMARY KEY,
    document INTEGER NOT NULL,
    position INTEGER NOT NULL,
    text TEXT NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (document, position)
  ) STRICT;

  -- The words of chunks. scope: one word for each store of a tenant.
  CREATE VIRTUAL TABLE vector_words USING fts5 (
    scope, text, content = '', contentless_delete = 1, tokenize = 'unicode61'
  );
  `,
  `
  -- Vector stores, the files in them, and the batches that have added these. about: the record, as JSON. gone_at: when one was deleted; it stays
  -- a while as a cursor of lists. Times are ms since the epoch but created_at, which has seconds.
  CREATE TABLE vector_stores (
    owner INTEGER NOT NULL,
    id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    gone_at INTEGER,
    about TEXT NOT NULL,
    PRIMARY KEY (owner, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX vector_stores_by_time ON vector_stores (owner, created_at, id);
  CREATE INDEX vector_stores_by_expiry ON vector_stores (expires_at) WHERE expires_at IS NOT NULL;
  CREATE INDEX vector_stores_by_end ON vector_stores (gone_at) WHERE gone_at IS NOT NULL;

  -- place: in the order in which they were added. claimed_until and attempt: of the process that indexes the file.
  CREATE TABLE vector_store_files (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    owner INTEGER NOT NULL,
    store_id TEXT NOT NULL,
    id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    batch_id TEXT,
    status TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    claimed_until INTEGER NOT NULL,
    gone_at INTEGER,
    about TEXT NOT NULL,
    UNIQUE (owner, store_id, id)
  ) STRICT;
  CREATE INDEX vector_store_files_by_time ON vector_store_files (owner, store_id, created_at, id);
  CREATE INDEX vector_store_files_by_file ON vector_store_files (owner, id);
  CREATE INDEX vector_store_files_waiting ON vector_store_files (place) WHERE status = 'in_progress' AND gone_at IS NULL;
  CREATE INDEX vector_store_files_by_end ON vector_store_files (gone_at) WHERE gone_at IS NOT NULL;

  CREATE TABLE vector_store_batches (
    owner INTEGER NOT NULL,
    store_id TEXT NOT NULL,
    id TEXT NOT NULL,
    about TEXT NOT NULL,
    PRIMARY KEY (owner, store_id, id)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- A document that is published may be written anew at the same time: then it has a row without attributes, too.
  CREATE TABLE documents (
    document INTEGER PRIMARY KEY AUTOINCREMENT,
    owner INTEGER NOT NULL,
    store_id TEXT NOT NULL,
    file_id TEXT NOT NULL,
    names TEXT NOT NULL,
    attributes TEXT
  ) STRICT;
  INSERT INTO documents SELECT document, owner, store_id, file_id, names, attributes FROM vector_documents;
  DROP TABLE vector_documents;
  ALTER TABLE documents RENAME TO vector_documents;
  CREATE UNIQUE INDEX vector_documents_by_file ON vector_documents (owner, store_id, file_id, attributes IS NULL);

  -- FTS5 merges a segment when 60 % of it is deleted. The default, 10 %, rewrites it twenty times as often.
  INSERT INTO vector_words (vector_words, rank) VALUES ('deletemerge', 60);

  -- Documents that were forgotten, whose chunks are not freed yet.
  CREATE TABLE vector_garbage (document INTEGER PRIMARY KEY) STRICT;

  -- The attempt of the last claim of any file.
  CREATE TABLE vector_store_claims (last INTEGER NOT NULL) STRICT;
  INSERT INTO vector_store_claims VALUES (0);

  -- attempt: of the claim that has a file, 0 without one. served: of its last claim. tries: its claims since it was added.
  ALTER TABLE vector_store_files ADD COLUMN served INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE vector_store_files ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
  UPDATE vector_store_files SET attempt = 0;
  DROP INDEX vector_store_files_waiting;
  CREATE INDEX vector_store_files_waiting ON vector_store_files (owner, place) WHERE status = 'in_progress' AND gone_at IS NULL;
  CREATE INDEX vector_store_files_by_claim ON vector_store_files (owner, served);
  CREATE INDEX vector_store_files_unfound ON vector_store_files (place) WHERE status IN ('cancelled', 'failed');
  CREATE INDEX vector_store_files_by_batch ON vector_store_files (owner, store_id, batch_id) WHERE batch_id IS NOT NULL;

  ALTER TABLE vector_store_batches ADD COLUMN created_at INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX vector_store_batches_by_time ON vector_store_batches (created_at);
  `,
  `
  -- unfound_at: when a file was cancelled or has failed, until nothing more can be written of it.
  ALTER TABLE vector_store_files ADD COLUMN unfound_at INTEGER;
  UPDATE vector_store_files SET unfound_at = 0 WHERE status IN ('cancelled', 'failed');
  DROP INDEX vector_store_files_unfound;
  CREATE INDEX vector_store_files_unfound ON vector_store_files (unfound_at) WHERE unfound_at IS NOT NULL;
  `,
  `
  -- reserved: what the chunks take of a file that is being indexed.
  ALTER TABLE vector_store_files ADD COLUMN reserved INTEGER NOT NULL DEFAULT 0;
  `,
];
