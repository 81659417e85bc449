-- What each replica has open, by counter: {"replica": [places, until when they count, ms since the epoch]}.
-- antiphon.limit_replicas is what replicas of earlier versions use.
ALTER TABLE antiphon.limit_counters ADD COLUMN places jsonb NOT NULL DEFAULT '{}';
-- The places that count at a time, after a replica has taken some more (or fewer), until a time.
CREATE FUNCTION antiphon.limit_places(places jsonb, replica text, more int, until_ms bigint, now_ms bigint) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
  WITH live AS (
    SELECT key, (value ->> 0)::int AS taken, (value ->> 1)::bigint AS until FROM jsonb_each(places)
    WHERE (value ->> 1)::bigint > now_ms),
  changed AS (
    SELECT key, taken, until FROM live WHERE key <> replica
    UNION ALL
    SELECT replica, coalesce((SELECT taken FROM live WHERE key = replica), 0) + more, until_ms)
  SELECT coalesce(jsonb_object_agg(key, jsonb_build_array(taken, until)) FILTER (WHERE taken > 0), '{}') FROM changed
$$;
CREATE FUNCTION antiphon.limit_places_taken(places jsonb) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$ SELECT coalesce(sum((value ->> 0)::int), 0) FROM jsonb_each(places) $$;
