CREATE INDEX responses_by_conversation ON antiphon.responses (owner, conversation_id) WHERE conversation_id IS NOT NULL;
