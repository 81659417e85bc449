-- The object of a bucket that has the bytes of a piece, and its length; the row has none then.
ALTER TABLE antiphon.file_pieces ADD COLUMN object text COLLATE "C", ADD COLUMN length integer;
-- Objects that no piece has: those that are being written, and those to delete. due_at: when one is deleted, in ms since the epoch; 0 or less: no piece can
-- have it any more, and when its deletion was tried last.
CREATE TABLE antiphon.file_objects (
  name text COLLATE "C" PRIMARY KEY,
  due_at bigint NOT NULL
);
CREATE INDEX file_objects_by_time ON antiphon.file_objects (due_at);
