import { Module } from '@nestjs/common';

import { StateModule } from '../state/index.js';
import { GraphController } from './graph.controller.js';
import { GraphService } from './graph.service.js';

/** The lists and trees that stored responses form. */
@Module({ imports: [StateModule], controllers: [GraphController], providers: [GraphService] })
export class GraphModule {}
