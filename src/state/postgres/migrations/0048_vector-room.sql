-- reserved: what the chunks take of a file that is being indexed.
ALTER TABLE antiphon.vector_store_files ADD COLUMN reserved bigint NOT NULL DEFAULT 0;
