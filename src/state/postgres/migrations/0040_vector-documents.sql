-- Documents of vector stores. attributes: JSON; null until the document is published. names: store and file, as JSON.
CREATE TABLE antiphon.vector_documents (
  document bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  store_id text COLLATE "C" NOT NULL,
  file_id text COLLATE "C" NOT NULL,
  names text NOT NULL,
  attributes text,
  UNIQUE (owner, store_id, file_id)
);
