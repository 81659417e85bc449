import type { Logger } from '@nestjs/common';

import type { OutageLog } from '../../logging/index.js';
import type { Clock } from '../../time/index.js';
import type { Random } from '../routing/random.js';
import type { CountRoute } from '../upstream-http/count-route.js';
import type { UpstreamClient } from '../upstream-http/upstream-client.js';
import type { ResponsesOptions } from './options.js';
import type { Sessions } from './sessions.js';
import type { Statistics } from './statistics.js';
import type { SocketPool } from './transport/socket-pool.js';

/** A server with the Responses API, and what is kept for it between turns. */
export interface Upstream {
  readonly options: ResponsesOptions;
  readonly client: UpstreamClient;
  /** `POST /responses/input_tokens`. */
  readonly counting: CountRoute;
  /** Null if WebSockets are not used. */
  readonly sockets: SocketPool | null;
  readonly sessions: Sessions;
  readonly statistics: Statistics;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly outages: OutageLog;
  /** The forms of which the log says that they are not understood. */
  readonly toldForms: Set<string>;
}
