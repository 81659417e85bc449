CREATE INDEX items_by_key ON antiphon.items (owner, item_key, response_id);
