-- Files that are uploaded in parts.
CREATE TABLE antiphon.file_uploads (
  owner text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  expires_at bigint NOT NULL,
  about text NOT NULL,
  PRIMARY KEY (owner, id)
);
CREATE INDEX file_uploads_by_expiry ON antiphon.file_uploads (expires_at);
