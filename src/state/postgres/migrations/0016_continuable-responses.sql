-- False: a background response with store: false, which is kept for a while but not continued.
ALTER TABLE antiphon.responses ADD COLUMN is_continuable boolean NOT NULL DEFAULT true;
