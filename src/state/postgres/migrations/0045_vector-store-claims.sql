-- attempt: of the claim that has a file, 0 without one; no two claims have the same. served: of its last claim. tries: its claims since it was
-- added.
CREATE SEQUENCE antiphon.vector_store_claims;
ALTER TABLE antiphon.vector_store_files
  ALTER COLUMN attempt TYPE bigint USING 0,
  ADD COLUMN served bigint NOT NULL DEFAULT 0,
  ADD COLUMN tries integer NOT NULL DEFAULT 0;
DROP INDEX antiphon.vector_store_files_waiting;
CREATE INDEX vector_store_files_waiting ON antiphon.vector_store_files (owner, place) WHERE status = 'in_progress' AND gone_at IS NULL;
CREATE INDEX vector_store_files_by_claim ON antiphon.vector_store_files (owner, served);
CREATE INDEX vector_store_files_unfound ON antiphon.vector_store_files (place) WHERE status IN ('cancelled', 'failed');
CREATE INDEX vector_store_files_by_batch ON antiphon.vector_store_files (owner, store_id, batch_id) WHERE batch_id IS NOT NULL;
ALTER TABLE antiphon.vector_store_batches ADD COLUMN created_at bigint NOT NULL DEFAULT 0;
CREATE INDEX vector_store_batches_by_time ON antiphon.vector_store_batches (created_at);
