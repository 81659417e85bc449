-- Equal pieces of a tenant are stored once. uses: how many places have one.
CREATE TABLE antiphon.file_pieces (
  owner text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL,
  uses integer NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (owner, hash)
);
