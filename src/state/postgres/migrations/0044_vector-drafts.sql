-- A document that is published may be written anew at the same time: then it has a row without attributes, too.
ALTER TABLE antiphon.vector_documents DROP CONSTRAINT vector_documents_owner_store_id_file_id_key;
CREATE UNIQUE INDEX vector_documents_by_file ON antiphon.vector_documents (owner, store_id, file_id, (attributes IS NULL));
-- Documents that were forgotten, whose chunks are not freed yet.
ALTER TABLE antiphon.vector_chunks DROP CONSTRAINT vector_chunks_document_fkey;
CREATE TABLE antiphon.vector_garbage (document bigint PRIMARY KEY);
