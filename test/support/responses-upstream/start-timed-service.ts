import { afterAll } from '@jest/globals';

import { Clock, Random } from '../../../src/index.js';
import { PausingClock } from '../clocks.js';
import { ChosenRandom } from '../routing/chosen-random.js';
import { SLOW_REFUSALS } from '../service.js';
import { useProvidersFile } from '../routing/start-fault.js';
import {
  type ResponsesService,
  type ResponsesServiceOptions,
  type SharedServiceOptions,
  startResponsesService,
} from './start-responses-service.js';

/** A service whose time stands still, but for pauses, which are over at once and remembered. Chance is always in the middle. */
export interface TimedService extends ResponsesService {
  readonly clock: PausingClock;
}

/** Starts the service in front of a fake upstream with a clock of the test. */
export async function startTimedService(options: ResponsesServiceOptions = {}): Promise<TimedService> {
  const clock = new PausingClock();
  const overrides = [[Clock, clock], [Random, new ChosenRandom()], ...(options.overrides ?? [])] as const;
  const service = await startResponsesService({ ...options, overrides });
  const close = async (): Promise<void> => {
    clock.letGo();
    await service.close();
  };
  return { ...service, clock, close, [Symbol.asyncDispose]: close };
}

/** As `shareResponsesService`, with a clock that all its tests see; none sees the pauses of the others. */
export function shareTimedService(): (options?: SharedServiceOptions) => Promise<TimedService> {
  const clock = new PausingClock();
  // Written before the hook that ends the service.
  afterAll(() => clock.letGo());
  const overrides = [
    [Clock, clock],
    [Random, new ChosenRandom()],
  ] as const;
  const within = useProvidersFile('providers.json', { environment: SLOW_REFUSALS, overrides });
  return async (options = {}) => {
    clock.take();
    return { ...(await startResponsesService({ ...options, within })), clock };
  };
}
