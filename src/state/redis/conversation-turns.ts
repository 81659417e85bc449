import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import type { ConversationPlace } from '../conversation-store.js';
import type { ResponseRecord } from '../response-store.js';
import { conversationLock } from '../write-lock.js';
import type { ConversationIndex } from './conversation-index.js';
import { shownItems, toTurnEntries } from './conversation-items.js';
import { toTurnError, type TurnRefusal } from './errors.js';
import { HeldItems } from './held-items.js';
import { indexCommands } from './indexes.js';
import { insertionArgs, toInsertion } from './insertion.js';
import type { RedisKeys } from './keys.js';
import type { KnownVersions } from './known-versions.js';
import type { Locators } from './locators.js';
import type { Redis } from './redis.js';
import { run } from './script.js';
import { SAVE_TURN } from './scripts/save.js';
import type { RedisUsageStore } from './usage.js';

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
