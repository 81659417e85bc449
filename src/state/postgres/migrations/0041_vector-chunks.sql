-- text is JSON, so that every text can be read back; vector: floats, little-endian; signs: bits that tell its direction, by which candidates
-- are chosen; words: those of the text.
CREATE TABLE antiphon.vector_chunks (
  document bigint NOT NULL REFERENCES antiphon.vector_documents ON DELETE CASCADE,
  position integer NOT NULL,
  text text NOT NULL,
  vector bytea NOT NULL,
  signs bit varying NOT NULL,
  words tsvector NOT NULL,
  PRIMARY KEY (document, position)
);
CREATE INDEX vector_chunks_by_word ON antiphon.vector_chunks USING gin (words);
