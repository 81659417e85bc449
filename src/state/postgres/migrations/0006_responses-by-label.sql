CREATE INDEX responses_by_label ON antiphon.responses USING gin (labels) WHERE labels IS NOT NULL;
