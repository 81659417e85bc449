import { Module } from '@nestjs/common';

import { StateModule } from '../../state/index.js';
import { Seals } from './seals.js';

/** The keys with which the service seals what clients keep for it. */
@Module({
  imports: [StateModule],
  providers: [Seals],
  exports: [Seals],
})
export class SealsModule {}
