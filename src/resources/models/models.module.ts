import { Module } from '@nestjs/common';

import { HttpModule } from '../../http/index.js';
import { ModelsController } from './models.controller.js';

/** `GET /models`. */
@Module({ imports: [HttpModule], controllers: [ModelsController] })
export class ModelsModule {}
