-- Secrets that the service made itself, for all replicas.
CREATE TABLE antiphon.secrets (
  name text COLLATE "C" PRIMARY KEY,
  value text NOT NULL
);
