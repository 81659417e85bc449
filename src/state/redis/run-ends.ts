import { Logger } from '@nestjs/common';

import type { Tenant } from '../../access/index.js';
import { OutageLog } from '../../logging/index.js';
import type { Item } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { isObject } from '../../json.js';
import type { Ending } from '../background-runs.js';
import type { ConversationPlace } from '../conversation-store.js';
import { DamagedRecordError, inOneLine, RunLostError, WriteLockLostError } from '../errors.js';
import { parseStored, readRecord } from '../read-record.js';
import { readable } from '../readable-page.js';
import { bytesOf, readItems, responseRecord, toBody } from '../stored-response.js';
import type { UsageRecord } from '../usage-store.js';
import { conversationLock } from '../write-lock.js';
import type { ConversationIndex } from './conversation-index.js';
import { shownItems, toTurnEntries, type TurnItems } from './conversation-items.js';
import { toTurnError } from './errors.js';
import { renewalCommands } from './indexes.js';
import { slackOf, toOutputTexts } from './insertion.js';
import { HeldItems } from './item-index.js';
import { type IdentifiedJob, identify, type RedisJobQueue } from './jobs.js';
import { type Located, type RedisKeys, sessionsOf } from './keys.js';
import type { RedisWriteLock } from './locks.js';
import { batchArgs, whenReleased } from './log-entries.js';
import type { RedisNotices } from './notices.js';
import type { Redis } from './redis.js';
import type { RunIndex } from './run-index.js';
import type { Command } from './script.js';
import { END_RUN, type Ended } from './scripts/runs.js';
import type { RedisUsageStore } from './usage.js';

/** What ends need. */
export interface RunEndParts {
  readonly redis: Redis;
  readonly keys: RedisKeys;
  readonly index: RunIndex;
  readonly jobs: RedisJobQueue;
  readonly conversations: ConversationIndex;
  readonly usage: RedisUsageStore;
  readonly locks: Pick<RedisWriteLock, 'pin'>;
  /** Tells the runs, on all replicas. */
  readonly notices: Pick<RedisNotices, 'ended'>;
  readonly clock: Clock;
}

/** Which run may end. */
interface EndCondition {
  readonly attempt?: number | undefined;
  /** From outside: the last entry of the log that the end knows of. */
  readonly lastEntry?: string;
}

/** What a background response has come to, and the jobs that are stored with it. */
export interface RunState {
  readonly isQueued: boolean;
  readonly hasEnded: boolean;
  /** Latest attempt. */
  readonly attempt: number;
  readonly sessions: readonly string[];
  /** Unix seconds. */
  readonly createdAt: number;
  readonly jobs: readonly IdentifiedJob[];
}

/** An end whose jobs have ids. */
type StoredEnding = Omit<Ending, 'jobs'> & { readonly jobs: readonly IdentifiedJob[] };

/** What a turn appends to its conversation. */
interface AppendedTurn extends TurnItems {
  readonly conversation: ConversationPlace;
}

/** Ends background responses: first the response itself, in one step, and then what finds it and follows from it. */
export class RunEnds {
  private readonly outages = new OutageLog(new Logger('RunEnds'));

  constructor(private readonly parts: RunEndParts) {}

  /** Ends the response of a run; does nothing when the same end is stored. Throws RunLostError, WriteLockLostError and ConversationChangedError. */
  async end(entry: Located, ending: Ending, attempt: number): Promise<void> {
    const stored = { ...ending, jobs: identify(ending.jobs) };
    const outcome = await whenReleased(this.parts.clock, () => this.store(entry, stored, { attempt }));
    if (outcome !== 'ended') throw new RunLostError(entry.responseKey);
  }

  /** Ends a response from outside, and notifies its run; false when it has changed meanwhile. */
  async conclude(entry: Located, ending: Ending, condition: EndCondition): Promise<boolean> {
    const outcome = await this.store(entry, { ...ending, jobs: identify(ending.jobs) }, condition);
    if (outcome !== 'ended') return false;
    const { uselessJob } = ending;
    if (uselessJob !== undefined) await this.tryTo(() => this.parts.jobs.remove(uselessJob));
    await this.tryTo(() => this.parts.notices.ended([entry.responseKey]));
    return true;
  }

  /** What follows from an end that is stored: it is found and counted, its jobs are enqueued, and nobody looks after it any more. */
  async settle(
    entry: Located,
    times: Pick<Ending, 'expiresAt' | 'logExpiresAt'>,
    output: readonly Item[],
    isShown: boolean,
    jobs: readonly IdentifiedJob[],
    usage: UsageRecord | undefined,
  ): Promise<void> {
    const { redis, keys, index, clock } = this.parts;
    const { tenant, slot, responseKey } = entry;
    const counting = this.parts.usage.commands(usage);
    const now = clock.now();
    const key = keys.response(entry);
    const [created, fields, input] = await redis.read(
      ['HGET', key, 'created'],
      ['HKEYS', key],
      ['GET', `${key}:input`],
    );
    // The response was freed meanwhile.
    if (created === null) {
      await redis.write(...counting);
      return;
    }
    const indexed = {
      id: responseKey,
      sessions: sessionsOf(fields as readonly string[]),
      createdAt: Number(created),
      expiresAt: times.expiresAt,
      slack: slackOf(times.expiresAt, now),
    };
    const shown = isShown ? { input: itemsIn(input, entry), output } : {};
    await redis.write(
      ...counting,
      // Until now they were of use only as long as it is renewed.
      ...renewalCommands(keys, tenant, slot, indexed, now),
      ...new HeldItems(tenant, shown).enter(keys, indexed, now),
      index.forgetting(entry, times.logExpiresAt, now),
      ...index.begun(entry),
    );
    await this.parts.jobs.add(jobs);
    await redis.write(['HDEL', key, 'jobs', 'usage'], ...index.left(entry));
  }

  /** The states of background responses; undefined for those that are gone. */
  async statesOf(entries: readonly Located[]): Promise<readonly (RunState | undefined)[]> {
    const now = this.parts.clock.now();
    const fields = ['status', 'expires', 'ended', 'attempt', 'created', 'jobs'];
    const replies = await this.parts.redis.read(
      ...entries.flatMap((entry): readonly Command[] => [
        ['HMGET', this.parts.keys.response(entry), ...fields],
        ['HKEYS', this.parts.keys.response(entry)],
      ]),
    );
    return entries.map((entry, index) => {
      const [status, expires, ended, attempt, createdAt, jobs] = replies[2 * index] as readonly (string | null)[];
      if (status === null || Number(expires) <= now) return undefined;
      return {
        isQueued: status === 'queued',
        hasEnded: ended !== null,
        attempt: Number(attempt),
        sessions: sessionsOf(replies[2 * index + 1] as readonly string[]),
        createdAt: Number(createdAt),
        jobs: jobs === null || jobs === undefined ? [] : readJobs(jobs, entry),
      };
    });
  }

  /** Does again what follows from an end of a process that died. */
  async settleAgain(entry: Located, jobs: readonly IdentifiedJob[]): Promise<void> {
    const key = this.parts.keys.response(entry);
    const [times, store, output, used] = await this.parts.redis.read(
      ['HMGET', key, 'expires', 'ended'],
      ['HGET', key, 'continuable'],
      ['GET', `${key}:output`],
      ['HGET', key, 'usage'],
    );
    const [expiresAt, logExpiresAt] = (times as readonly (string | null)[]).map(Number);
    if (expiresAt === undefined || logExpiresAt === undefined) return;
    const usage = used === null ? undefined : readable(entry.tenant, () => readUsage(used as string, entry));
    await this.settle(entry, { expiresAt, logExpiresAt }, itemsIn(output, entry), store !== '0', jobs, usage);
  }

  /** Does what a sweep does otherwise; failures are logged. */
  async tryTo(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.outages.warn('jobs of background responses will be enqueued later', inOneLine(error));
    }
  }

  private async store(entry: Located, ending: StoredEnding, condition: EndCondition): Promise<Ended[0]> {
    const { response, jobs, fence, conversation } = ending;
    // The turn is appended to its conversation in one step, which needs both in one slot.
    if (conversation !== null && entry.slot !== conversationLock(conversation.id)) {
      throw new Error(`response ${entry.responseKey} was not created in conversation ${conversation.id}`);
    }
    const turn = conversation === null ? null : { ...ending, input: await this.inputOf(entry), conversation };
    let outcome = await this.send(entry, ending, condition, turn, fence);
    if (outcome[0] === 'elsewhere' && fence !== null) {
      const sessionId = JSON.parse(outcome[1]) as string;
      if (!(await this.parts.locks.pin(entry.tenant, sessionId, fence))) throw new WriteLockLostError(sessionId);
      outcome = await this.send(entry, ending, condition, turn, null);
    }
    if (outcome[0] === 'lost') throw new WriteLockLostError(JSON.parse(outcome[1]) as string);
    if (outcome[0] === 'refused') throw toTurnError(outcome[1], conversation?.id ?? '');
    if (outcome[0] === 'ended') {
      await this.tryTo(async () => {
        if (turn !== null) await this.showIn(entry.tenant, turn);
        await this.settle(entry, ending, response.output, response.store, jobs, ending.usage);
      });
    }
    return outcome[0] === 'same' ? 'ended' : outcome[0];
  }

  private async inputOf(entry: Located): Promise<readonly Item[]> {
    const [input] = await this.parts.redis.read(['GET', `${this.parts.keys.response(entry)}:input`]);
    return readItems(input as string | null, responseRecord(entry.responseKey));
  }

  /** Has the items of a turn found in its conversation. */
  private async showIn(tenant: Tenant, turn: AppendedTurn): Promise<void> {
    const { redis, conversations, clock } = this.parts;
    await redis.write(...conversations.addCommands(tenant, turn.conversation.id, shownItems(turn), clock.now()));
  }

  private async send(
    entry: Located,
    ending: StoredEnding,
    condition: EndCondition,
    turn: AppendedTurn | null,
    fence: number | null,
  ): Promise<Ended> {
    const [outcome] = await this.parts.redis.write(this.toCommand(entry, ending, condition, turn, fence));
    return outcome as Ended;
  }

  private toCommand(
    entry: Located,
    ending: StoredEnding,
    { attempt, lastEntry }: EndCondition,
    turn: AppendedTurn | null,
    fence: number | null,
  ): Command {
    const { keys } = this.parts;
    const { response, origin, expiresAt, logExpiresAt, log, jobs, usage } = ending;
    const now = this.parts.clock.now();
    const body = toBody(response);
    const { texts, size, itemsSize } = toOutputTexts(ending);
    return keys.call(
      entry,
      END_RUN,
      now,
      ...[attempt ?? '', lastEntry ?? '', ...batchArgs(log)],
      ...[fence ?? '', JSON.stringify(entry.slot), response.status, expiresAt, slackOf(expiresAt, now), logExpiresAt],
      ...[bytesOf([body]) + size, itemsSize, origin === null ? '' : JSON.stringify(origin)],
      ...[
        jobs.length === 0 ? '' : JSON.stringify(jobs),
        response.store ? new HeldItems(entry.tenant, { output: response.output }).names : '',
        usage === undefined ? '' : JSON.stringify(usage),
      ],
      ...[texts.length + 2, ':body', body, ...texts],
      ...(turn === null ? [] : [turn.conversation.version, ...toTurnEntries(turn)]),
    );
  }
}

/** Items of an ended response, by which it is found; none where they are damaged, which keeps nothing else of the end from being settled. */
function itemsIn(texts: unknown, { tenant, responseKey }: Located): readonly Item[] {
  return readable(tenant, () => readItems(texts as string | null, responseRecord(responseKey))) ?? [];
}

/** The jobs that are stored with a response; none where they are damaged. */
function readJobs(text: string, { tenant, responseKey }: Located): readonly IdentifiedJob[] {
  const record = `the jobs of ${responseRecord(responseKey)}`;
  const jobs = readable(tenant, () => {
    const parsed = parseStored(text, record);
    if (!Array.isArray(parsed) || !parsed.every(isJob)) throw new DamagedRecordError(record, 'jobs were expected');
    return parsed as readonly IdentifiedJob[];
  });
  return jobs ?? [];
}

function isJob(value: unknown): boolean {
  return isObject(value) && typeof value['queue'] === 'string' && typeof value['id'] === 'string';
}

function readUsage(text: string, { responseKey }: Located): UsageRecord {
  return readRecord<UsageRecord>(text, `the usage of ${responseRecord(responseKey)}`, 'model');
}
