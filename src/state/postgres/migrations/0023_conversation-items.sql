-- The items of conversations. Without a foreign key: they are only inserted where the row of their conversation is updated.
CREATE TABLE antiphon.conversation_items (
  owner text COLLATE "C" NOT NULL,
  conversation_id text COLLATE "C" NOT NULL,
  -- Kept when others are deleted.
  position bigint NOT NULL,
  -- Whether a model got it between its outputs: clients do not see it.
  is_given boolean NOT NULL,
  item_key text COLLATE "C" NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (owner, conversation_id, position)
);
