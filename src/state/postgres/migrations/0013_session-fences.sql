-- Never goes back, so that a lock may be forgotten as soon as it is given back.
CREATE SEQUENCE antiphon.session_fences;
