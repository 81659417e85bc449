import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import type { Bookmark } from '../bookmark.js';
import { toKey } from '../keys.js';
import type { RedisKeys } from './keys.js';
import type { Locators } from './locators.js';
import { sessionOf } from './membership.js';
import type { Redis } from './redis.js';
import { run } from './script.js';
import { type BookmarkText, FIND_GONE, type GoneFound } from './scripts/bookmarks.js';

/** A response that is gone. */
export interface GoneResponse extends Bookmark {
  /** Whether it continued the response that was asked about, or what continued that. */
  readonly isBelow: boolean;
}

/** Responses that were deleted or have expired, as they are remembered in the places where they lay. */
export class GoneResponses {
  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
    private readonly locators: Locators,
    private readonly clock: Clock,
  ) {}

  /** One that went BOOKMARK_MS ago at most. Ids are as of `toKey`; `ancestor`: that of a response to ask about. */
  async find(tenant: Tenant, responseKey: string, ancestor = ''): Promise<GoneResponse | undefined> {
    const lock = (await this.locators.findAll(tenant, [responseKey])).get(responseKey);
    if (lock === undefined) return undefined;
    const now = this.clock.now();
    const { base } = this.keys.place(tenant, lock);
    const [reply] = (await this.redis.read(run(FIND_GONE, [base], now, responseKey, ancestor))) as readonly GoneFound[];
    if (reply == null) return undefined;
    const { created, parent, model, status, labels, memberships, until } = JSON.parse(reply[0]) as BookmarkText;
    if (Number(until) <= now) return undefined;
    return {
      createdAt: Number(created),
      parentKey: parent === false ? null : parent,
      model,
      status,
      labels: labels === false ? [] : labels.split(' '),
      sessions: memberships.split('\n').map((field) => toKey(sessionOf(field))),
      isBelow: reply[1] === 1,
    };
  }
}
