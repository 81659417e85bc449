import { adHoc, prepared } from '../statement.js';

type Lease = readonly [tenant: string, sessionId: string, fence: number];

/** Acquires the lock of a session that is free or whose lease has expired. Uses the clock of the database. */
export const ACQUIRE = prepared<
  readonly [tenant: string, sessionId: string, ttlMs: number],
  { readonly fence: string }
>(
  'acquire',
  `INSERT INTO antiphon.session_locks AS held (owner, session_id, fence, expires_at)
  SELECT $1, $2, nextval('antiphon.session_fences'), clock_timestamp() + $3 * interval '1 millisecond'
  WHERE NOT EXISTS (
    SELECT FROM antiphon.session_locks WHERE owner = $1 AND session_id = $2 AND expires_at > clock_timestamp())
  ON CONFLICT (owner, session_id) DO UPDATE SET fence = excluded.fence, expires_at = excluded.expires_at
  WHERE held.expires_at <= clock_timestamp()
  RETURNING fence`,
);

export const RENEW = prepared<readonly [...Lease, ttlMs: number], { readonly renewed: true }>(
  'renew',
  `UPDATE antiphon.session_locks SET expires_at = clock_timestamp() + $4 * interval '1 millisecond'
  WHERE owner = $1 AND session_id = $2 AND fence = $3 RETURNING true AS renewed`,
);

export const RELEASE = prepared<Lease, never>(
  'release',
  `DELETE FROM antiphon.session_locks WHERE owner = $1 AND session_id = $2 AND fence = $3`,
);

/** Deletes locks left by crashed replicas. */
export const FORGET_LOCKS = adHoc<readonly [], never>(
  `DELETE FROM antiphon.session_locks WHERE expires_at < clock_timestamp() - interval '1 day'`,
);
