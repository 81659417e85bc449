-- What a response brought with it and made. Its ancestors keep theirs.
CREATE TABLE antiphon.items (
  owner text COLLATE "C" NOT NULL,
  response_id text COLLATE "C" NOT NULL,
  position integer NOT NULL,
  -- inherited: what came before, where the response continued is not kept.
  kind text NOT NULL CHECK (kind IN ('inherited', 'input', 'output')),
  item_key text COLLATE "C" NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (owner, response_id, position),
  FOREIGN KEY (owner, response_id) REFERENCES antiphon.responses (owner, id) ON DELETE CASCADE
);
