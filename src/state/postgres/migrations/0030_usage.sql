-- What turns have used, one row per turn. It outlives the responses. Names are JSON, so that every text can be read back.
CREATE TABLE antiphon.usage (
  response_id text COLLATE "C" PRIMARY KEY,
  owner_key text COLLATE "C" NOT NULL,
  ended_at bigint NOT NULL,
  input bigint NOT NULL,
  cached bigint NOT NULL,
  output bigint NOT NULL,
  reasoning bigint NOT NULL,
  background boolean NOT NULL,
  transport text NOT NULL,
  status text NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  provider text COLLATE "C" NOT NULL
);
CREATE INDEX usage_by_tenant ON antiphon.usage (owner_key, ended_at);
-- Rows come in the order of time: such an index costs their insertion nothing.
CREATE INDEX usage_by_time ON antiphon.usage USING brin (ended_at);
