import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { isOutOfPlace, SessionFullError } from '../errors.js';
import { toKey } from '../keys.js';
import type { ResponseRecord } from '../response-store.js';
import { listedFor } from './indexes.js';
import { slackOf } from './insertion.js';
import { membershipOf, type RedisKeys } from './keys.js';
import type { ListedResponses } from './listed-responses.js';
import type { Redis } from './redis.js';
import { run } from './script.js';
import { ENTER_BELOW } from './scripts/indexes.js';

/** A response that is about to be stored. */
export type NewMember = Pick<ResponseRecord, 'response' | 'sessionId' | 'sessionLimit' | 'expiresAt'>;

/**
 * The lists of the members of sessions, where these have a limit: a response is listed before it is stored, so that of those that are
 * stored at once no more get a place than there are.
 */
export class SessionMembers {
  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
    private readonly responses: ListedResponses,
    private readonly clock: Clock,
  ) {}

  /** Stores a response while it has its place. Throws SessionFullError. */
  async storing<T>(tenant: Tenant, member: NewMember, store: () => Promise<T>): Promise<T> {
    const { sessionId, sessionLimit: limit, response } = member;
    if (limit === undefined) return store();
    const index = this.keys.place(tenant, sessionId).members;
    if (!(await this.enter(index, member, limit, []))) {
      // What has expired, was deleted or has left may still be listed. What is not stored may be about to be.
      const [listed] = (await this.redis.read(['ZRANGE', index, 0, -1])) as [readonly string[]];
      const { matching, missing } = await this.responses.match(tenant, listed, { within: membershipOf(sessionId) });
      const taken = new Set([...matching.map(({ responseKey: key }) => key), ...missing]);
      const gone = listed.filter((key) => !taken.has(key));
      if (!(await this.enter(index, member, limit, gone))) throw new SessionFullError(limit);
    }
    try {
      return await store();
    } catch (error) {
      if (isOutOfPlace(error)) await this.redis.write(['ZREM', index, toKey(response.id)]);
      throw error;
    }
  }

  private async enter(
    index: string,
    { response, expiresAt }: NewMember,
    limit: number,
    gone: readonly string[],
  ): Promise<boolean> {
    const now = this.clock.now();
    const ttl = listedFor({ expiresAt, slack: slackOf(expiresAt, now) }, now);
    const entry = [response.created_at, toKey(response.id)] as const;
    const [entered] = await this.redis.write(run(ENTER_BELOW, [index], limit, ttl, ...entry, ...gone));
    return entered === 1;
  }
}
