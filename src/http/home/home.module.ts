import { Module } from '@nestjs/common';

import { ApiDocsModule } from '../api-docs/index.js';
import { ConsoleModule } from '../../console/index.js';
import { HomeController } from './home.controller.js';

/** The page at `/`, the console, and the API description that it links to. Only the service of `npm start` has it: an embedding program decides what its own `/` is. */
@Module({ imports: [ApiDocsModule, ConsoleModule], controllers: [HomeController] })
export class HomeModule {}
