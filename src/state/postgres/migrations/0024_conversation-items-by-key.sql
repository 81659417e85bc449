-- Not unique: a model may use an id twice, and its answer is not lost for that.
CREATE INDEX conversation_items_by_key ON antiphon.conversation_items (owner, item_key, conversation_id);
