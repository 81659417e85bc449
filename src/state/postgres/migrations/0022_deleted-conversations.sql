CREATE INDEX deleted_conversations ON antiphon.conversations (owner, id) WHERE is_deleted;
