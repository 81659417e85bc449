import { Inject, Injectable } from '@nestjs/common';

import { BodyBudget } from '../../http/bodies/index.js';
import { Environment } from '../../config/index.js';
import { ConnectionRegistry } from '../../connections/index.js';
import { ContinuationCaches } from '../../context/index.js';
import { FileBudget } from '../../files/index.js';
import { lostLines } from '../../logging/index.js';
import { Readiness } from '../index.js';
import { readVersion } from '../../read-version.js';
import { RunningTurns } from '../../responses/index.js';
import { BackgroundRuns } from '../../state/index.js';
import { Clock, SharedClock } from '../../time/index.js';
import { Metrics } from './metrics.js';

/** How long a scrape waits for the state, ms: a database that hangs must not hide the rest. */
const STATE_LIMIT_MS = 1000;

/** Queued turns that are counted. */
const MOST_COUNTED = 1000;

/** Registers what is read when the metrics are, and costs nothing in between. */
@Injectable()
export class ProcessMetrics {
  constructor(
    @Inject(Metrics) metrics: Metrics | null,
    environment: Environment,
    connections: ConnectionRegistry,
    runningTurns: RunningTurns,
    caches: ContinuationCaches,
    bodies: BodyBudget,
    files: FileBudget,
    runs: BackgroundRuns,
    readiness: Readiness,
    clock: Clock,
  ) {
    if (metrics === null) return;
    metrics.gauge('antiphon_build_info', 'Always 1.', ['version', 'node', 'state'] as const, (gauge) =>
      gauge.set({ version: readVersion(), node: process.version, state: environment.STATE }, 1),
    );
    metrics.gauge('antiphon_draining', '1 while the process shuts down.', [], (gauge) =>
      gauge.set(readiness.isLeaving ? 1 : 0),
    );
    metrics.gauge('antiphon_turns_running', 'Turns that run in this process.', ['background'] as const, (gauge) => {
      const background = runningTurns.background;
      gauge.set({ background: 'true' }, background);
      gauge.set({ background: 'false' }, runningTurns.size - background);
    });
    metrics.countedElsewhere(
      'antiphon_log_lines_lost_total',
      'Lines of the log that could not be written, by stream.',
      ['stream'] as const,
      () => Object.entries(lostLines()).map(([stream, count]) => [{ stream }, count] as const),
    );
    metrics.gauge('antiphon_sockets_open', 'Open WebSocket connections.', [], (gauge) => gauge.set(connections.size));
    metrics.gauge('antiphon_socket_turns', 'Turns on lanes of sockets.', ['state'] as const, (gauge) => {
      const { running, queued } = connections.load();
      gauge.set({ state: 'running' }, running);
      gauge.set({ state: 'queued' }, queued);
    });
    metrics.countedElsewhere(
      'antiphon_socket_errors_total',
      'Error frames, by status and code.',
      ['status', 'code'] as const,
      () => [...connections.refusals].map(([labels, count]) => [labels, count] as const),
    );
    if (clock instanceof SharedClock) measureClock(metrics, clock);
    metrics.gauge(
      'antiphon_background_queued',
      `Background turns that wait in the queue of all replicas; at most ${MOST_COUNTED} are counted.`,
      [],
      async (gauge) => {
        const waiting = runs.queuedBefore(clock.now() + STATE_LIMIT_MS, MOST_COUNTED).catch(() => undefined);
        const found = await clock.within(waiting, STATE_LIMIT_MS);
        // Without an answer there is no value, rather than a wrong one.
        if (found?.value === undefined) gauge.remove();
        else gauge.set(found.value.length);
      },
    );
    metrics.countedElsewhere(
      'antiphon_continuation_lookups_total',
      'Look-ups of parents in what sockets and turns over HTTP remember.',
      ['result'] as const,
      () => [
        [{ result: 'hit' }, caches.hits],
        [{ result: 'miss' }, caches.misses],
      ],
    );
    metrics.gauge('antiphon_continuation_cache_bytes', 'Size of these caches, estimated.', [], (gauge) =>
      gauge.set(caches.size),
    );
    metrics.gauge(
      'antiphon_body_bytes',
      'Large bodies and messages that arrive or are parsed (BODY_TOTAL_BYTES).',
      [],
      (gauge) => gauge.set(bodies.bytes),
    );
    metrics.gauge(
      'antiphon_file_input_bytes',
      'Files that running turns give their models (FILE_INPUT_TOTAL_BYTES).',
      [],
      (gauge) => gauge.set(files.bytes),
    );
  }
}

/** A clock that follows none has no offset. */
function measureClock(metrics: Metrics, clock: SharedClock): void {
  metrics.gauge(
    'antiphon_clock_offset_seconds',
    'By how much the clock of PostgreSQL or Redis is ahead of that of this machine.',
    [],
    (gauge) => {
      if (clock.offsetMs === undefined) gauge.remove();
      else gauge.set(clock.offsetMs / 1000);
    },
  );
}
