-- What each replica has open, by rule and tenant.
CREATE UNLOGGED TABLE antiphon.limit_replicas (
  replica text COLLATE "C" PRIMARY KEY,
  open text NOT NULL,
  expires_at timestamptz NOT NULL
) WITH (fillfactor = 50);
