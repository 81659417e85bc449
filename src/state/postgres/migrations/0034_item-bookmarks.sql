-- Where items stood in their conversations that were deleted.
CREATE TABLE antiphon.item_bookmarks (
  owner text COLLATE "C" NOT NULL,
  conversation_id text COLLATE "C" NOT NULL,
  item_key text COLLATE "C" NOT NULL,
  position bigint NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (owner, conversation_id, item_key)
);
CREATE INDEX item_bookmarks_by_expiry ON antiphon.item_bookmarks (expires_at);
