import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ScriptedProvider } from '../../src/testing/index.js';
import { type Service, type ServiceOptions, startService } from './service.js';

/** A file that one service records into and others replay as the model `session`. */
export class RecordedSession implements AsyncDisposable {
  private constructor(private readonly folder: string) {}

  static async begin(): Promise<RecordedSession> {
    return new RecordedSession(await mkdtemp(join(tmpdir(), 'antiphon-recording-')));
  }

  get path(): string {
    return join(this.folder, 'session.jsonl');
  }

  /** Lets a service with a scripted model record until `use` is done, and then closes it. */
  async record(
    use: (service: Service, provider: ScriptedProvider) => Promise<void>,
    { environment, ...options }: ServiceOptions = {},
  ): Promise<void> {
    await using service = await startService({
      providers: [ScriptedProvider],
      ...options,
      environment: { RECORD_FILE: this.path, ...environment },
    });
    await use(service, service.app.get(ScriptedProvider));
  }

  /** A service whose simulator plays what was recorded. */
  replay({ environment, ...options }: ServiceOptions = {}): Promise<Service> {
    return startService({ ...options, environment: { SIMULATOR_SCRIPTS: this.path, ...environment } });
  }

  text(): Promise<string> {
    return readFile(this.path, 'utf8');
  }

  /** The lines of the file: the settings, then the turns; none if nothing was recorded. Throws unless each is whole. */
  async lines(): Promise<readonly unknown[]> {
    const text = await this.text();
    if (text === '') return [];
    if (!text.endsWith('\n')) throw new Error('the last line is not whole');
    return text
      .slice(0, -1)
      .split('\n')
      .map((line): unknown => JSON.parse(line));
  }

  /** The turns of the file alone. */
  async turns(): Promise<readonly unknown[]> {
    return (await this.lines()).slice(1);
  }

  /** Puts other settings in the first line, as an editor would. */
  async changeSettings(settings: object): Promise<void> {
    const [, ...turns] = (await this.text()).split('\n');
    await writeFile(this.path, [JSON.stringify({ settings }), ...turns].join('\n'));
  }

  /** The file's permissions. */
  async mode(): Promise<number> {
    return (await stat(this.path)).mode & 0o777;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true });
  }
}
