import { mkdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { Logger } from '@nestjs/common';

import type { Environment } from '../../config/index.js';
import type { Clock } from '../../time/index.js';
import type { BackgroundRuns } from '../background-runs.js';
import { OutageLog } from '../../logging/index.js';
import type { Claims } from '../claims.js';
import type { ConversationStore } from '../conversation-store.js';
import type { FileStore } from '../file-store.js';
import { DeletionNotices, RunNotices } from '../notices.js';
import { StateStartError } from '../errors.js';
import { InProcessJobQueue, type JobJournal, type KeptJob } from '../in-process/jobs.js';
import { InProcessLock } from '../in-process/locks.js';
import { RunGate } from '../in-process/run-gate.js';
import { reasonOfDamage } from '../read-record.js';
import type { ResponseGraph } from '../response-graph.js';
import type { ResponseStore } from '../response-store.js';
import type { SecretStore } from '../secret-store.js';
import type { SessionStore } from '../session-store.js';
import { StateBackend } from '../state-backend.js';
import type { UsageStore } from '../usage-store.js';
import { FILE_MODES, OBJECT_MODES, toFileStore } from '../sql/files.js';
import { methodsOf } from '../sql/steps.js';
import { toVectorStores } from '../sql/stored-vector-stores.js';
import { VECTOR_STORE_MODES } from '../sql/vector-stores.js';
import type { VectorIndex } from '../vector-index.js';
import type { VectorStoreRecords } from '../vector-stores.js';
import { DatabaseThread } from './database-thread.js';
import { explainStart } from './errors.js';
import type { ThreadGroup } from './executed.js';
import { FILE_NAME } from './open-database.js';
import { SqliteEventLog } from './log.js';
import { conversationsOf } from './conversations.js';
import type { SqliteJobs, StoredJob } from './jobs.js';
import { graphOf } from './graph.js';
import { responsesOf } from './responses.js';
import { runsOf } from './runs.js';
import { sessionsOf } from './sessions.js';
import { SqliteTombstones } from './tombstones.js';
import { SqliteTransfer } from './transfer.js';

/** The variables of the file. */
export type FileSettings = Pick<Environment, 'STATE_DIR' | 'CONTEXT_MAX_BYTES'>;

/** State in a file of this process, which it finds again when it restarts. */
export class SqliteBackend extends StateBackend {
  override readonly notices = new DeletionNotices();
  override readonly runNotices = new RunNotices();
  override readonly responses: ResponseStore;
  override readonly runs: BackgroundRuns;
  override readonly graph: ResponseGraph;
  override readonly sessions: SessionStore;
  override readonly conversations: ConversationStore;
  override readonly locks: InProcessLock;
  override readonly secrets: SecretStore;
  override readonly claims: Claims;
  override readonly log: SqliteEventLog;
  override readonly jobs: InProcessJobQueue;
  override readonly transfer: SqliteTransfer;
  override readonly usage: UsageStore;
  override readonly files: FileStore;
  override readonly vectors: VectorIndex;
  override readonly vectorStores: VectorStoreRecords;
  private readonly thread: DatabaseThread;
  private readonly logger = new Logger('Sqlite');

  constructor(
    private readonly settings: FileSettings,
    clock: Clock,
  ) {
    super();
    const { STATE_DIR: directory, CONTEXT_MAX_BYTES: maxContextBytes } = settings;
    const thread = new DatabaseThread({ directory, maxContextBytes }, clock);
    const locks = new InProcessLock(clock);
    const gate = new RunGate();
    const log = new SqliteEventLog(thread.group('log'), gate, this.runNotices);
    const queue = new InProcessJobQueue(clock, journalOf(thread.group('jobs')));
    const conversations = conversationsOf(thread.group('conversations'), locks);
    const outages = new OutageLog(new Logger('Tombstones'));
    const tombstones = new SqliteTombstones(thread.group('tombstones'), this.notices, outages);
    const inThread = thread.group('responses');
    const responses = responsesOf({ thread: inThread, health: thread, locks, tombstones, log, conversations });
    const sessionOf = inThread.contract(['sessionOf']).sessionOf;
    this.responses = responses;
    this.runs = runsOf({
      thread: thread.group('runs'),
      responses,
      sessionOf,
      locks,
      log,
      queue,
      gate,
      maxContextBytes,
    });
    this.graph = graphOf(thread.group('graph'));
    this.sessions = sessionsOf(thread.group('sessions'), tombstones);
    this.secrets = thread.group('secrets').contract(['getOrCreate', 'find']);
    this.claims = thread.group('claims').contract(['claim', 'held', 'release']);
    this.usage = thread.group('usage').contract(['record', 'report', 'purge']);
    const objects = thread.group('objects').contract(methodsOf(OBJECT_MODES));
    this.files = toFileStore(thread.group('files').contract(methodsOf(FILE_MODES)), objects);
    this.vectors = thread
      .group('vectors')
      .contract(['append', 'publish', 'describe', 'documents', 'texts', 'nearest', 'matching', 'purge']);
    this.vectorStores = toVectorStores(thread.group('vectorStores').contract(methodsOf(VECTOR_STORE_MODES)));
    this.transfer = new SqliteTransfer(
      thread.group('transfer'),
      { jobs: thread.group('jobs'), secrets: thread.group('secrets') },
      queue,
    );
    [this.thread, this.locks, this.log, this.jobs, this.conversations] = [thread, locks, log, queue, conversations];
  }

  override async start(): Promise<void> {
    const { STATE_DIR } = this.settings;
    try {
      await makeDirectory(STATE_DIR);
    } catch (error) {
      throw new StateStartError(explainStart(error, STATE_DIR));
    }
    await this.thread.start();
    await this.warnOfReaders();
    await this.jobs.start();
    await this.thread.call('vectorStores.start');
  }

  /** Warns if other users of the machine may read what is stored. */
  private async warnOfReaders(): Promise<void> {
    const { STATE_DIR } = this.settings;
    const file = join(STATE_DIR, FILE_NAME);
    const [ofDirectory, ofFile] = await Promise.all([stat(STATE_DIR), stat(file)]);
    // Windows has no such permissions.
    if (process.platform === 'win32' || ((ofDirectory.mode | ofFile.mode) & 0o077) === 0) return;
    this.logger.warn(`STATE_DIR (${STATE_DIR}) is open to other users: chmod 700 ${STATE_DIR} and chmod 600 ${file}*`);
  }

  override async stop(): Promise<void> {
    await this.thread.stop();
  }

  override async abandon(): Promise<void> {
    await this.thread.abandon();
  }
}

/**
 * Makes a directory for its owner alone, with those above it, if it does not exist. Throws the errors of mkdir. Not the recursive mkdir of Node: that
 * never ends where the directory above exists and nothing can be made in it, as in /proc.
 */
async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (await isDirectory(path)) return;
    const above = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || (await isDirectory(above))) throw error;
    await makeDirectory(above);
    await makeDirectory(path);
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/**
 * The jobs in the file, for the queue of the process. One that cannot be read is left where it is: the others, and the start, do without it.
 * Not in `jobs.ts`, which the thread of the file runs too: Nest, for the logger, would double what the thread takes to start.
 */
function journalOf(thread: ThreadGroup<SqliteJobs>): JobJournal {
  const logger = new Logger('JobQueue');
  const read = ({ data, ...job }: StoredJob & Pick<KeptJob, 'attempts'>): readonly KeptJob[] => {
    try {
      return [{ ...job, data: JSON.parse(data) as unknown }];
    } catch (error) {
      logger.warn(`job ${job.id} of queue ${job.queue} cannot be read and is left out: ${reasonOfDamage(error)}`);
      return [];
    }
  };
  return {
    ...thread.reading({ load: (jobs) => jobs.flatMap(read) }),
    ...thread.contract(['delivered', 'ended']),
  };
}
