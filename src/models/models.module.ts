import { Module } from '@nestjs/common';

import { ModelsController } from './models.controller.js';

/** `GET /models`. */
@Module({ controllers: [ModelsController] })
export class ModelsModule {}
