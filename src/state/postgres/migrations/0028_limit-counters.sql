-- Requests and tokens of a minute, by rule and tenant. Unlogged: what a crash loses is a minute at most.
CREATE UNLOGGED TABLE antiphon.limit_counters (
  key text COLLATE "C" PRIMARY KEY,
  requests bigint NOT NULL,
  tokens bigint NOT NULL,
  expires_at timestamptz NOT NULL
) WITH (fillfactor = 50);
