-- What only one may have, until a time. `holder` is JSON, so that every text can be read back.
CREATE TABLE antiphon.claims (
  owner text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  holder text NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (owner, name)
);
CREATE INDEX claims_by_expiry ON antiphon.claims (expires_at);
