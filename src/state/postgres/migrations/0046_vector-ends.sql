-- unfound_at: when a file was cancelled or has failed, until nothing more can be written of it.
ALTER TABLE antiphon.vector_store_files ADD COLUMN unfound_at bigint;
UPDATE antiphon.vector_store_files SET unfound_at = 0 WHERE status IN ('cancelled', 'failed');
DROP INDEX antiphon.vector_store_files_unfound;
CREATE INDEX vector_store_files_unfound ON antiphon.vector_store_files (unfound_at) WHERE unfound_at IS NOT NULL;
