import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { ProviderSubject } from '../../src/testing/index.js';

/** The input of a turn that its upstream refuses, and of one in which it says nothing more. */
export const ASK_TO_FAIL = 'Fail.';
export const ASK_TO_HANG = 'Say nothing more.';

/** The providers file of a provider in front of a fake upstream, and the turn that the upstream leaves hanging. */
export class FileSubject<Call extends { readonly closed: Promise<unknown> }> implements AsyncDisposable {
  private hung = Promise.withResolvers<Call>();

  private constructor(private readonly folder: string) {}

  /** Writes a file with the provider `upstream`, which serves the model `tested` under another name. */
  static async write<Call extends { readonly closed: Promise<unknown> }>(upstream: object): Promise<FileSubject<Call>> {
    const subject = new FileSubject<Call>(await mkdtemp(join(tmpdir(), 'antiphon-providers-')));
    const models = [{ name: 'tested', provider: 'upstream', model: 'upstream-model' }];
    await writeFile(subject.file, JSON.stringify({ providers: { upstream }, models }));
    return subject;
  }

  get file(): string {
    return join(this.folder, 'providers.json');
  }

  /** The request of the hanging turn has arrived. */
  reached(call: Call): void {
    this.hung.resolve(call);
  }

  hang(): ReturnType<NonNullable<ProviderSubject['hanging']>> {
    this.hung = Promise.withResolvers();
    const reached = this.hung.promise;
    return { body: { input: ASK_TO_HANG }, reached, released: reached.then(({ closed }) => closed) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true });
  }
}

/** What the contract needs to know of such a provider, whose upstream must not see its key in an answer. */
export function describeFileSubject(
  files: () => Pick<FileSubject<never>, 'file' | 'hang'>,
  key: string,
): ProviderSubject {
  return {
    options: () => ({ environment: { PROVIDERS_FILE: files().file } }),
    model: 'tested',
    deterministic: true,
    hanging: () => files().hang(),
    failing: { body: { input: ASK_TO_FAIL } },
    secrets: [key, 'upstream-model is out'],
  };
}
