-- After the other indexes: as long as PostgreSQL knows nothing of the table, it takes the youngest of those that look as good.
ALTER TABLE antiphon.responses ADD PRIMARY KEY (owner, id),
  ADD FOREIGN KEY (owner, parent_id) REFERENCES antiphon.responses (owner, id);
