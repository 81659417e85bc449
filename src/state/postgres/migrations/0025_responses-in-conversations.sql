-- The context of a response of a conversation: the items of the conversation before a position.
ALTER TABLE antiphon.responses ADD COLUMN conversation_id text COLLATE "C", ADD COLUMN conversation_end bigint;
