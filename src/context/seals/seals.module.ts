import { Module } from '@nestjs/common';

import { StateModule } from '../../state/index.js';
import { Seals } from './seals.js';
import { ServiceSeals } from './service-seals.js';

/** The keys with which the service seals what clients keep for it. */
@Module({
  imports: [StateModule],
  providers: [{ provide: Seals, useClass: ServiceSeals }],
  exports: [Seals],
})
export class SealsModule {}
