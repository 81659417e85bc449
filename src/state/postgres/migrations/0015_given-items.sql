-- given: what the conversation got between outputs, unseen by clients. Replicas that are older write the other kinds only, and all
-- rows that there are have one of those: they need not be looked through under a lock.
ALTER TABLE antiphon.items DROP CONSTRAINT items_kind_check,
  ADD CONSTRAINT items_kind_check CHECK (kind IN ('inherited', 'input', 'output', 'given')) NOT VALID;
