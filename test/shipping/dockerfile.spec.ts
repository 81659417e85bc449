import { describe, expect, it } from '@jest/globals';
import { validate, ValidationSeverity } from 'dockerfile-utils';

import { readShipped, unknownVariables } from '../support/shipped-files.js';

const dockerfile = await readShipped('Dockerfile');
const instructions = dockerfile
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => /^[A-Z]/.test(line));
const { scripts } = JSON.parse(await readShipped('package.json')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

/** The variables that `npm start` sets before its command, and the command. */
const [startVariables = '', startCommand] = (scripts['start'] ?? '').split('exec ');

function valuesOf(name: string): readonly string[] {
  return instructions.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1).trim());
}

/** An instruction in exec form: no shell stands between the signals and Node. */
function execForm(value: string | undefined): readonly string[] {
  return JSON.parse(/\[.*\]$/.exec(value ?? '')?.[0] ?? 'null') as readonly string[];
}

describe('the Dockerfile', () => {
  it('the Dockerfile has no fault that the linter knows', () => {
    const faults = validate(dockerfile, { instructionCmdMultiple: ValidationSeverity.ERROR });
    expect(faults.map(({ message, range }) => ({ line: range.start.line + 1, message }))).toEqual([]);
  });

  it('the Dockerfile builds from fixed versions and from what reaches the build', async () => {
    expect(valuesOf('FROM')).toEqual([
      expect.stringMatching(/^node:\d+\.\d+\.\d+-slim AS build$/),
      expect.stringMatching(/^node:\d+\.\d+\.\d+-slim$/),
    ]);
    const ignored = (await readShipped('.dockerignore')).split('\n');
    const copied = valuesOf('COPY')
      .filter((value) => !value.startsWith('--from'))
      .flatMap((value) => value.split(/\s+/).slice(0, -1));
    expect(copied).toContain('package-lock.json');
    for (const path of copied) expect(ignored).toContain(`!${path}`);
  });

  it('the Dockerfile keeps what is optional to install, with the command of the documentation', async () => {
    const [, prune = ''] = /(npm pkg delete .* && npm prune)$/m.exec(dockerfile) ?? [];
    expect(prune).toContain(' peerDependenciesMeta ');
    expect(await readShipped('docs/deployment.md')).toContain(`\n${prune}\n`);
  });

  it('the Dockerfile runs as a user without rights, with the command and the variables of `npm start`', () => {
    expect(valuesOf('USER')).toEqual(['node']);
    expect(execForm(valuesOf('ENTRYPOINT')[0]).join(' ')).toBe(startCommand);
    expect((valuesOf('ENV')[0] ?? '').split(/\s+/)).toEqual(expect.arrayContaining(startVariables.trim().split(' ')));
    expect(valuesOf('STOPSIGNAL')).toEqual(['SIGTERM']);
    expect(valuesOf('EXPOSE')).toEqual(['8080']);
    expect(valuesOf('VOLUME')).toEqual(['/data']);
  });

  it('the Dockerfile sets variables that the service, Node or the C library reads', () => {
    const names = [...(valuesOf('ENV')[0] ?? '').matchAll(/([A-Z_]+)=/g)].map(([, name = '']) => name);
    expect(names).toContain('STATE_DIR');
    expect(unknownVariables(names)).toEqual([]);
  });

  it('the Dockerfile asks a route of the service for its health, with Node', () => {
    const [command, flag, script] = execForm(valuesOf('HEALTHCHECK')[0]);
    expect([command, flag]).toEqual(['node', '-e']);
    expect(script).toContain('/healthz');
  });
});
