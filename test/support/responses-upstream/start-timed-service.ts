import { Clock, Random } from '../../../src/index.js';
import { PausingClock } from '../pausing-clock.js';
import { ChosenRandom } from '../routing/chosen-random.js';
import {
  type ResponsesService,
  type ResponsesServiceOptions,
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
