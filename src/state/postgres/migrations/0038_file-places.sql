-- Which pieces a content has.
CREATE TABLE antiphon.file_places (
  content bigint NOT NULL,
  position integer NOT NULL,
  owner text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL,
  PRIMARY KEY (content, position)
);
