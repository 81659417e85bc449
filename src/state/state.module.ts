import { Module } from '@nestjs/common';

import { Environment } from '../config/index.js';
import { Clock } from '../time/index.js';
import { MemoryResponseStore } from './memory/memory-response-store.js';
import { ResponseStore } from './response-store.js';

/** What each value of STATE makes; a backend is a whole room of contracts. */
const BACKENDS: Readonly<Record<Environment['STATE'], (clock: Clock, environment: Environment) => ResponseStore>> = {
  memory: (clock, environment) => new MemoryResponseStore(clock, environment),
};

/** Where responses are kept, as STATE says. */
@Module({
  providers: [
    {
      provide: ResponseStore,
      inject: [Clock, Environment],
      useFactory: (clock: Clock, environment: Environment) => BACKENDS[environment.STATE](clock, environment),
    },
  ],
  exports: [ResponseStore],
})
export class StateModule {}
