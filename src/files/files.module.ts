import { Module } from '@nestjs/common';

import { BodiesModule } from '../http/bodies/index.js';
import { HttpModule } from '../http/index.js';
import { StateModule } from '../state/index.js';
import { FileBudget } from './file-budget.js';
import { FileUrls } from './file-urls.js';
import { FilesController } from './files.controller.js';
import { FilesService } from './files.service.js';
import { UploadsController } from './uploads.controller.js';
import { UploadsService } from './uploads.service.js';

/** Files of tenants, and the uploads that become files. */
@Module({
  imports: [BodiesModule, HttpModule, StateModule],
  controllers: [FilesController, UploadsController],
  providers: [FileBudget, FilesService, FileUrls, UploadsService],
  exports: [FileBudget, FilesService, FileUrls],
})
export class FilesModule {}
