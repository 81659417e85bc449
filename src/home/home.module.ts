import { Module } from '@nestjs/common';

import { ApiDocsModule } from '../api-docs/index.js';
import { HomeController } from './home.controller.js';

/** The page at `/`, and the API description that it links to. Only the service of `npm start` has it: an embedding program decides what its own `/` is. */
@Module({ imports: [ApiDocsModule], controllers: [HomeController] })
export class HomeModule {}
