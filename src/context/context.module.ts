import { Module } from '@nestjs/common';

import { StateModule } from '../state/index.js';
import { ContextResolver } from './context-resolver.js';

/** What the model sees. */
@Module({ imports: [StateModule], providers: [ContextResolver], exports: [ContextResolver] })
export class ContextModule {}
