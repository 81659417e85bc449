import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import type { ConversationPlace } from '../conversation-store.js';
import type { ResponseRecord } from '../response-store.js';
import { conversationLock } from '../write-lock.js';
import type { ConversationIndex } from './conversation-index.js';
import { shownItems, toTurnEntries } from './conversation-items.js';
import { HeldItems } from './held-items.js';
import { indexCommands } from './indexes.js';
import { insertionArgs, toInsertion } from './insertion.js';
import type { RedisKeys } from './keys.js';
import type { KnownVersions } from './known-versions.js';
import type { Locators } from './locators.js';
import type { RedisUsageStore } from './usage.js';
import type { Redis } from './redis.js';
import { run, Script } from './script.js';
import { LOCKS } from './scripts/locks.js';
import { RESPONSES } from './scripts/responses.js';
import { toTurnError, type TurnRefusal } from './errors.js';

/**
 * Stores a response that was made in a conversation in the place of that, appends its turn and releases the lock; nothing, if
 * the turn is refused. A response that is stored already stays as it is: the script may be repeated.
 *
 * KEYS[1]: the place. ARGV[1]: now; ARGV[2]: the fence of the conversation's lock, empty when there is none to check; ARGV[3]: the
 * version that the turn has read; from ARGV[4] on: the insertion, then the entries. Returns a `TurnRefusal`, or nil.
 */
const SAVE_TURN = new Script(`${LOCKS}${RESPONSES}
local r, next = insertionAt(4)
if exists(r.id) then return nil end
local refusal = turnRefusal(base, ARGV[2], ARGV[3])
if refusal then return refusal end
insert(r)
redis.call('HSET', at(r.id), addTurn(base, r.id, entriesFrom(next)))
keepConversation(base, tonumber(redis.call('HGET', at(r.id), 'until')), now)
release_lock(base, ARGV[2])
return nil`);

/** Saves the turns of conversations. Each response lies in the place of its conversation, and is its first there: it has no parent. */
export class RedisConversationTurns {
  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
    private readonly locators: Locators,
    private readonly index: ConversationIndex,
    private readonly usage: RedisUsageStore,
    private readonly versions: KnownVersions,
    private readonly clock: Clock,
  ) {}

  /**
   * Saves a response and appends its turn, in one round trip. Throws WriteLockLostError, ConversationChangedError and
   * StoreUnavailableError.
   */
  async save(tenant: Tenant, record: ResponseRecord, { id, version }: ConversationPlace): Promise<void> {
    const { keys } = this;
    const { response, input, fence } = record;
    const now = this.clock.now();
    const lock = conversationLock(id);
    const { base } = keys.place(tenant, lock);
    const held = new HeldItems(tenant, { input, output: response.output });
    const insertion = toInsertion(tenant, record, null, now, held.fields);
    const counting = this.usage.commands(record.usage);
    const shown = shownItems(record);
    const replies = await this.redis.write(
      // First: no response is stored without its usage.
      ...counting,
      run(
        SAVE_TURN,
        [base],
        ...[now, fence ?? '', version, ...insertionArgs(insertion, lock)],
        ...toTurnEntries(record),
      ),
      ...indexCommands(keys, tenant, lock, insertion, now),
      ...held.enter(keys, insertion, now),
      ...this.index.addCommands(tenant, id, shown, now),
    );
    const refusal = replies[counting.length];
    if (refusal !== null) {
      await this.index.withdraw(tenant, id, shown, now);
      throw toTurnError(refusal as TurnRefusal, id);
    }
    this.versions.learn(base, version + 1, insertion.id);
    this.locators.know(tenant, response.id, lock);
  }
}
