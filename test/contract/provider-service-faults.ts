import { type DynamicModule, Inject, Injectable, Module, type OnApplicationBootstrap, type Type } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';

import { ApiError, Environment, ProviderRegistry, StoredResponsesService } from '../../src/index.js';
import { TurnFailures } from '../../src/responses/turn/failures.js';
import { broken, type ProviderFault } from './provider-fault.js';

const WORK = Symbol('what is put out of order');

/** Replaces members of a service in the running application, so that a test can see whether anybody notices. */
@Injectable()
class Saboteur implements OnApplicationBootstrap {
  constructor(
    private readonly modules: ModuleRef,
    @Inject(WORK) private readonly work: readonly [token: Type | (abstract new () => unknown), members: object],
  ) {}

  onApplicationBootstrap(): void {
    const [token, members] = this.work;
    Object.assign(this.modules.get<object>(token as Type<object>, { strict: false }), members);
  }
}

@Module({})
class SabotageModule {}

/** A module to import that puts these members in the place of the service's own. */
function sabotage(
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- any class, whatever it is made of
  token: abstract new (...parts: any[]) => unknown,
  members: object,
): DynamicModule {
  return { module: SabotageModule, providers: [Saboteur, { provide: WORK, useValue: [token, members] }] };
}

const keeps = (what: string): string => `keeps the rules of the stream when it ${what}`;

const forgetful = sabotage(StoredResponsesService, { retrieve: async () => ({ object: 'response', output: [] }) });
const leakingRefusals = sabotage(TurnFailures, {
  toRefusal: (error: unknown) => new ApiError(500, 'server_error', null, null, String(error)),
});
const leakingFailures = sabotage(TurnFailures, {
  toResponseError: (error: unknown) => ({ code: 'server_error', message: String(error) }),
});
const goodRefusals = sabotage(TurnFailures, {
  toRefusal: () => new ApiError(200, 'server_error', null, null, 'Well done.'),
});
const goodFailures = sabotage(TurnFailures, { toFailedOutcome: () => ({ status: 'incomplete', usage: null }) });
const listless = sabotage(ProviderRegistry, { list: () => Promise.reject(new Error('nobody knows')) });
const nameless = sabotage(ProviderRegistry, { list: async () => [{}] });
const patient = sabotage(Environment, { MODEL_IDLE_TIMEOUT_MS: 0 });

/** Services that do not stand what a provider does. */
export const SERVICE_FAULTS: readonly ProviderFault[] = [
  broken('forgets what was said', forgetful, {
    notices: 'stores what it streams',
    says: 'the stored response differs',
  }),
  ...['throws', 'rejects', 'never resolves', 'gives nothing', 'gives a list with an undefined entry'].map((what) =>
    broken('lists nothing any more', listless, {
      notices: `keeps the list of models when models() ${what}`,
      says: 'GET /models answered 500',
    }),
  ),
  ...['gives a model without a name', 'gives a model without a valid created'].map((what) =>
    broken('lists anything', nameless, {
      notices: `keeps the list of models when models() ${what}`,
      says: 'a model must have id, object, created and owned_by',
    }),
  ),
  ...['throws instead of answering', 'throws before its first event', 'throws a value that is not an Error'].map(
    (what) => broken('tells what was thrown', leakingRefusals, { notices: keeps(what), says: 'a secret' }),
  ),
  ...['returns no iterable', 'ends without output', 'begins with an invalid event'].map((what) =>
    broken('refuses with success', goodRefusals, { notices: keeps(what), says: 'the response lacks' }),
  ),
  broken('tells what was thrown', leakingFailures, {
    notices: keeps('throws after its first event'),
    says: 'a secret',
  }),
  ...[
    'throws after its first event',
    'ends without finish',
    'yields no event at all',
    'yields an event of no known type',
    'yields text that is a number',
    'yields arguments without a call',
    'yields a call without a name',
    'yields tokens in fractions',
    'yields an unknown reason to finish',
  ].map((what) =>
    broken('makes good of a failure', goodFailures, { notices: keeps(what), says: 'incomplete_details belongs to' }),
  ),
  ...['is silent from the beginning', 'falls silent after its first event'].map((what) =>
    broken('waits for ever', patient, { notices: keeps(what), says: 'an answer over JSON did not come' }),
  ),
];
