import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { type Claim, Claims } from '../claims.js';
import { toKey } from '../keys.js';
import { prepared } from '../sql/statement.js';
import type { Database } from './database.js';

/** Returns what is stored, by whomever: an insertion that does nothing would not see what another one has just added. */
const CLAIM = prepared<
  readonly [tenant: string, name: string, holder: string, expiresAt: Date, now: Date],
  { readonly holder: string }
>(
  'claim',
  `INSERT INTO antiphon.claims AS c (owner, name, holder, expires_at) VALUES ($1, $2, $3, $4)
  ON CONFLICT (owner, name) DO UPDATE SET
    holder = CASE WHEN c.expires_at > $5 THEN c.holder ELSE excluded.holder END,
    expires_at = CASE WHEN c.expires_at > $5 THEN c.expires_at ELSE excluded.expires_at END
  RETURNING c.holder`,
);

const HELD = prepared<
  readonly [tenant: string, names: readonly string[], now: Date],
  { readonly name: string; readonly holder: string; readonly expires_at: Date }
>(
  'held_claims',
  'SELECT name, holder, expires_at FROM antiphon.claims WHERE owner = $1 AND name = ANY ($2::text[]) AND expires_at > $3',
);

const RELEASE = prepared<readonly [tenant: string, name: string, holder: string], object>(
  'release_claim',
  'DELETE FROM antiphon.claims WHERE owner = $1 AND name = $2 AND holder = $3',
);

/** Claims in PostgreSQL, for all replicas; a sweep forgets those that have expired. */
export class PostgresClaims extends Claims {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async claim(tenant: Tenant, name: string, owner: string, expiresAt: number): Promise<string> {
    const times = [new Date(expiresAt), new Date(this.clock.now())] as const;
    const [row] = await this.database.repeatable(CLAIM, [toKey(tenant), toKey(name), JSON.stringify(owner), ...times]);
    if (row === undefined) throw new Error('a claim was not stored');
    return JSON.parse(row.holder) as string;
  }

  override async held(tenant: Tenant, names: readonly string[]): Promise<readonly Claim[]> {
    const nameOf = new Map(names.map((name) => [toKey(name), name]));
    const rows = await this.database.repeatable(HELD, [toKey(tenant), [...nameOf.keys()], new Date(this.clock.now())]);
    return rows.map(({ name, holder, expires_at: expiresAt }) => ({
      name: nameOf.get(name) ?? name,
      owner: JSON.parse(holder) as string,
      expiresAt: expiresAt.getTime(),
    }));
  }

  override async release(tenant: Tenant, name: string, owner: string): Promise<void> {
    await this.database.repeatable(RELEASE, [toKey(tenant), toKey(name), JSON.stringify(owner)]);
  }
}
