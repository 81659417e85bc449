import { randomUUID } from 'node:crypto';

import type { Tenant } from '../../access/index.js';
import { isTerminalEvent } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import {
  BackgroundRuns,
  type ComposeEnding,
  type ConcludeOptions,
  type Ending,
  type QueueBounds,
  type QueuedRecord,
  type StartedRun,
  toResponseRecord,
  toUnfinished,
} from '../background-runs.js';
import { ContextTooLargeError, RunLostError, StoreUnavailableError } from '../errors.js';
import type { Run, RunName } from '../event-log.js';
import type { RunGate } from '../in-process/run-gate.js';
import { toKey } from '../keys.js';
import { readLog } from '../log-columns.js';
import type { DeleteOptions, ResponseRecord } from '../response-store.js';
import { contextRecord, readItems, readOrigin, responseRecord } from '../stored-response.js';
import { conversationLock } from '../write-lock.js';
import { indexCommands } from './indexes.js';
import { insertionArgs, toInsertion } from './insertion.js';
import { HeldItems } from './item-index.js';
import { identify, type RedisJobQueue } from './jobs.js';
import { type Located, type RedisKeys, withinOf } from './keys.js';
import type { ResponseSlots } from './response-slots.js';
import { batchArgs, readWholeLog, whenReleased } from './log-entries.js';
import type { RedisEventLog } from './log.js';
import type { Redis } from './redis.js';
import type { RedisResponseStore } from './responses.js';
import type { RunEnds } from './run-ends.js';
import type { RunIndex } from './run-index.js';
import { run } from './script.js';
import {
  HAND_BACK,
  type Held,
  HOLD_RUN,
  RELEASE_RUN,
  RUN_CONTEXT,
  type RunContext,
  START_RUN,
  type Started,
  STORE_RUN,
  type StoredRun,
  UNFINISHED,
} from './scripts/runs.js';
import type { RedisSessionStore } from './sessions.js';

/** How often an end from outside is tried that takes longer than a run waits for it. */
const MOST_HOLDS = 3;

/** What the runs need. */
export interface RunParts {
  readonly redis: Redis;
  readonly keys: RedisKeys;
  readonly slots: ResponseSlots;
  readonly index: RunIndex;
  readonly log: RedisEventLog;
  readonly gate: RunGate;
  readonly jobs: RedisJobQueue;
  readonly ends: RunEnds;
  readonly sessions: RedisSessionStore;
  readonly responses: Pick<RedisResponseStore, 'get'>;
  readonly clock: Clock;
  readonly maxContextBytes: number;
}

/**
 * The life of background responses in Redis: created, started, ended. Their jobs are stored with them, because the queue
 * lies in another slot, and enqueued afterwards: what a dead process left, `RunSweep` does.
 */
export class RedisRuns extends BackgroundRuns {
  constructor(private readonly parts: RunParts) {
    super();
  }

  override async create(tenant: Tenant, record: QueuedRecord, bounds: QueueBounds): Promise<void> {
    const { redis, index, slots, jobs, clock } = this.parts;
    const { response, parentId, sessionId } = record;
    const known = parentId === null ? undefined : await slots.find(tenant, parentId);
    const conversationId = parentId === null ? response.conversation?.id : undefined;
    const ownLock = conversationId === undefined ? sessionId : conversationLock(conversationId);
    const [job] = identify([record.job]);
    const entry = { tenant, slot: known ?? ownLock, responseKey: toKey(response.id) };
    await index.admit(entry, response.created_at, clock.now(), bounds);
    try {
      const whole = toResponseRecord(record);
      await this.parts.sessions.storing(tenant, whole, async () => {
        const isLinked = known !== undefined && (await this.store(entry, whole, parentId, job));
        // The parent was never stored, or was freed meanwhile.
        if (!isLinked) await this.store(entry, whole, null, job);
      });
    } catch (error) {
      // If it was stored after all, the sweep finds it.
      await redis.write(...index.begun(entry)).catch(() => undefined);
      throw error;
    }
    slots.know(tenant, response.id, entry.slot);
    if (job !== undefined) await this.parts.ends.tryTo(() => jobs.add([job]));
  }

  override async start(attempted: Run): Promise<StartedRun | undefined> {
    const { redis, keys, slots, clock } = this.parts;
    const entry = await slots.locate(attempted.tenant, attempted.responseId);
    if (entry === undefined) return undefined;
    const [reply] = await redis.write(keys.call(entry, START_RUN, clock.now(), attempted.attempt, randomUUID()));
    if (reply === null) return undefined;
    try {
      return await this.load(entry, reply as Started);
    } catch (error) {
      // The attempt failed before it began.
      if (error instanceof StoreUnavailableError) await this.handBack(attempted);
      throw error;
    }
  }

  override async handBack(attempted: Run): Promise<void> {
    const { redis, keys, slots, clock } = this.parts;
    const entry = await slots.locate(attempted.tenant, attempted.responseId);
    if (entry !== undefined) await redis.write(keys.call(entry, HAND_BACK, clock.now(), attempted.attempt));
  }

  /** Throws ConversationChangedError, too. */
  override async finish(attempted: Run, ending: Ending): Promise<void> {
    const { ends, gate, log, slots } = this.parts;
    const { tenant, responseId, attempt } = attempted;
    const entry = await slots.locate(tenant, responseId);
    if (entry === undefined) throw new RunLostError(responseId);
    await gate.pass(attempted, () => ends.end(entry, ending, attempt));
    log.announce(responseId, ending.log.events);
  }

  override async conclude(tenant: Tenant, responseId: string, compose: ComposeEnding, options: ConcludeOptions) {
    const entry = await this.parts.slots.locate(tenant, responseId);
    if (entry === undefined) return undefined;
    const { gate, responses, log } = this.parts;
    const conclude = (): Promise<Ending | 'unchanged' | undefined> => this.concludeNow(entry, compose, options);
    const outcome = await gate.closeFor({ tenant, responseId }, conclude);
    if (outcome === undefined) return undefined;
    if (outcome === 'unchanged') return responses.get(tenant, responseId, options.within);
    log.announce(responseId, outcome.log.events);
    return outcome.response;
  }

  override async unfinished(tenant: Tenant, responseId: string, { cascade }: DeleteOptions, within?: string) {
    const ids = await this.parts.slots.ask(tenant, responseId, UNFINISHED, withinOf(within), cascade ? 1 : 0);
    return (ids ?? []) as readonly string[];
  }

  override async queuedBefore(createdBefore: number, limit: number) {
    const found: RunName[] = [];
    for (let offset = 0; found.length < limit; offset += limit) {
      const entries = await this.parts.index.queuedBefore(createdBefore, offset, limit);
      const states = await this.parts.ends.statesOf(entries);
      for (const [position, { tenant, responseKey }] of entries.entries()) {
        const state = states[position];
        if (state?.isQueued === true && found.length < limit) found.push({ tenant, responseId: responseKey });
      }
      if (entries.length < limit) break;
    }
    return found;
  }

  /** Whether it was linked to its parent, if it has one. */
  private async store(
    { tenant, slot }: Located,
    record: ResponseRecord & QueuedRecord,
    parentId: string | null,
    job: unknown,
  ): Promise<boolean> {
    const { redis, keys, clock } = this.parts;
    const now = clock.now();
    const { response, isStream, turn, opening } = record;
    const held = new HeldItems(tenant, response.store ? { input: record.input } : {});
    const fields = [
      ...held.fields,
      ...['attempt', 0, 'attempts', 0, 'stream', isStream ? 1 : 0, 'jobs', JSON.stringify([job])],
      ...(response.store ? [] : ['continuable', 0]),
    ];
    const plain = toInsertion(tenant, record, parentId, now, fields);
    const insertion = { ...plain, texts: [...plain.texts, ':turn', turn] };
    const values = [now, '', '', 1, ...batchArgs(opening), ...insertionArgs(insertion, slot)];
    const [stored] = await redis.write(
      run(STORE_RUN, [keys.slot(tenant, slot).base], ...values),
      ...indexCommands(keys, tenant, slot, insertion, now),
      ...held.enter(keys, insertion, now),
    );
    return (stored as StoredRun) !== 'unlinked';
  }

  private async load(entry: Located, started: Started): Promise<StartedRun | undefined> {
    const { redis, keys, clock, maxContextBytes } = this.parts;
    const [turn, attempts, status, session, parentId] = started;
    const [{ rows }, [reply]] = await Promise.all([
      readWholeLog(redis, `${keys.response(entry)}:log`),
      redis.read(keys.call(entry, RUN_CONTEXT, clock.now(), maxContextBytes)),
    ]);
    // The response was deleted meanwhile.
    if (reply === null) return undefined;
    const [tooLarge, input, context, origin, expires, isInConversation] = reply as RunContext;
    if (tooLarge === 1) throw new ContextTooLargeError(maxContextBytes, 'previous_response_id');
    return {
      turn,
      input: readItems(input, responseRecord(entry.responseKey)),
      context: readItems(context, contextRecord(entry.responseKey)),
      parent:
        parentId === null || expires === null
          ? null
          : {
              responseId: parentId,
              origin: readOrigin(origin, responseRecord(parentId)),
              isInConversation: isInConversation === 1,
              expiresAt: Number(expires),
            },
      sessionId: JSON.parse(session) as string,
      log: readLog(rows, entry.responseKey),
      attempts: Number(attempts),
      isRestart: status !== 'queued' || Number(attempts) > 1,
    };
  }

  private async concludeNow(
    entry: Located,
    compose: ComposeEnding,
    { within, attempt }: ConcludeOptions,
  ): Promise<Ending | 'unchanged' | undefined> {
    const { redis, keys, clock } = this.parts;
    for (let holds = 0; holds < MOST_HOLDS; holds += 1) {
      const name = randomUUID();
      const held = await whenReleased(clock, async () => {
        const [reply] = await redis.write(
          keys.call(entry, HOLD_RUN, clock.now(), withinOf(within), attempt ?? '', name),
        );
        return reply as Held | null;
      });
      if (held === null) return undefined;
      if (held === 'closed') return 'unchanged';
      let outcome: Ending | 'unchanged' | 'lost' = 'lost';
      try {
        outcome = await this.endHeld(entry, held, compose, attempt);
      } finally {
        if (typeof outcome === 'string') await this.release(entry, name);
      }
      if (outcome !== 'lost') return outcome;
    }
    throw new StoreUnavailableError(`the log of ${entry.responseKey} cannot be read in time`);
  }

  /** Ends a response whose run waits; `lost` when that has not waited long enough, or somebody has deleted the response. */
  private async endHeld(
    entry: Located,
    [body, turn]: Exclude<Held, string>,
    compose: ComposeEnding,
    attempt: number | undefined,
  ): Promise<Ending | 'unchanged' | 'lost'> {
    const { redis, keys, ends } = this.parts;
    const { rows, lastEntry } = await readWholeLog(redis, `${keys.response(entry)}:log`);
    const unfinished = toUnfinished(entry.tenant, entry.responseKey, { body, turn }, rows);
    if (isTerminalEvent(unfinished.log.events.at(-1))) return 'lost';
    const ending = compose(unfinished);
    if (ending === undefined) return 'unchanged';
    return (await ends.conclude(entry, ending, { attempt, lastEntry })) ? ending : 'lost';
  }

  /** Lets a run go on; otherwise it does so by itself later. */
  private async release(entry: Located, name: string): Promise<void> {
    const { redis, keys, clock } = this.parts;
    await redis.write(keys.call(entry, RELEASE_RUN, clock.now(), name)).catch(() => undefined);
  }
}
