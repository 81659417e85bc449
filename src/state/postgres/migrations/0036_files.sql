-- Files, parts of uploads, and drafts, which become one of them. Times of expiry are ms since the epoch. about: the record of a file, as JSON.
CREATE TABLE antiphon.files (
  content bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  bytes bigint NOT NULL,
  upload_id text COLLATE "C",
  purpose text,
  about text,
  UNIQUE (owner, id)
);
CREATE INDEX files_by_time ON antiphon.files (owner, created_at, id) WHERE kind = 'file';
CREATE INDEX files_by_upload ON antiphon.files (owner, upload_id) WHERE upload_id IS NOT NULL;
CREATE INDEX files_by_expiry ON antiphon.files (expires_at);
