import { Body, Controller, Get, HttpCode, Param, Post, UseGuards } from '@nestjs/common';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../access/index.js';
import { objectSchema, requireSchema } from '../config/index.js';
import { Recorder, type Recording } from '../providers/index.js';
import { checkBody, ControlSwitch, type List } from './control.controller.js';

/** A recording, as clients see it. */
export interface ListedRecording {
  readonly object: 'simulator.recording';
  readonly name: string;
  /** In RECORD_DIR; SIMULATOR_SCRIPTS plays it. */
  readonly path: string;
  readonly status: Recording['status'];
  /** Unix seconds. */
  readonly started_at: number;
  readonly turns: number;
}

const SCHEMA = objectSchema({ name: { type: 'string' } }, { required: ['name'] });

/**
 * `/simulator/recordings`: records what the upstreams answer to the caller's tenant, in this process, whatever the space. Its recordings are
 * files of RECORD_DIR.
 */
@Controller('simulator/recordings')
@UseGuards(ControlSwitch, ApiKeyGuard)
export class RecordingsController {
  constructor(private readonly recorder: Recorder) {}

  /** The recording that runs, if there is one. */
  @Get()
  list(@CurrentCaller() { tenant }: Caller): List<ListedRecording> {
    const running = this.recorder.runningOf(tenant);
    return { object: 'list', data: running === undefined ? [] : [toListed(running)] };
  }

  /** Starts one. Throws the ApiErrors of `Recorder.start`. */
  @Post()
  @HttpCode(200)
  async start(@CurrentCaller() { tenant }: Caller, @Body() body: unknown): Promise<ListedRecording> {
    const { name } = await checkBody(async () =>
      requireSchema<{ readonly name: string }>(body, SCHEMA, { whole: 'it' }),
    );
    return toListed(await this.recorder.start(tenant, name));
  }

  /** Stops one; its file is complete then. Throws ApiError 404. */
  @Post(':name/stop')
  @HttpCode(200)
  async stop(@CurrentCaller() { tenant }: Caller, @Param('name') name: string): Promise<ListedRecording> {
    return toListed(await this.recorder.stop(tenant, name));
  }
}

function toListed({ name, path, status, startedAt, turns }: Recording): ListedRecording {
  return { object: 'simulator.recording', name, path, status, started_at: Math.floor(startedAt / 1000), turns };
}
