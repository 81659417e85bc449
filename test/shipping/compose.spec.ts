import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

import { longestShutdown, PROJECT, readShipped, readYaml, unknownVariables } from '../support/shipped-files.js';

interface ComposeService {
  readonly image: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly networks?: { readonly default: { readonly ipv4_address: string } };
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly stop_grace_period?: string;
}

const { services, volumes } = await readYaml<{
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}>('compose.yaml');
const replicas = ['antiphon-1', 'antiphon-2'].map((name) => services[name] as ComposeService);

describe.each(Object.entries(services))('%s in compose.yaml', (_, service) => {
  it('a service of compose.yaml has an image of a fixed version', () => {
    expect(service.image).toMatch(/^[a-z/-]+:v?\d+\.\d+/);
  });

  it('a service of compose.yaml mounts what exists', () => {
    for (const volume of service.volumes ?? []) {
      const [source = ''] = volume.split(':');
      const exists = source.startsWith('.') ? existsSync(join(PROJECT, source)) : source in volumes;
      expect({ source, exists }).toEqual({ source, exists: true });
    }
  });

  it('a service of compose.yaml waits for services that tell their health', () => {
    expect(service.healthcheck?.test[0]).toBe('CMD');
    for (const [name, { condition }] of Object.entries(service.depends_on ?? {})) {
      expect(condition).toBe('service_healthy');
      expect(services).toHaveProperty([name, 'healthcheck']);
    }
  });

  it('a service of compose.yaml can write to its volumes only and has no rights', () => {
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
  });

  it('a service of compose.yaml is reached by this machine only', () => {
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
  });
});

describe('the replicas in compose.yaml', () => {
  it('the replicas in compose.yaml know only variables of the service', () => {
    for (const { environment = {} } of replicas) expect(unknownVariables(Object.keys(environment))).toEqual([]);
  });

  it('the replicas in compose.yaml have more time to stop than a shutdown takes', () => {
    for (const { environment = {}, stop_grace_period = '' } of replicas) {
      const seconds = Number(/^(\d+)s$/.exec(stop_grace_period)?.[1]);
      expect(seconds * 1000).toBeGreaterThan(longestShutdown(environment));
    }
  });

  it('the replicas in compose.yaml are those that nginx and Prometheus ask', async () => {
    const conf = await readShipped('deploy/nginx/antiphon.conf');
    const asked = [...conf.matchAll(/^ *server (\S+)/gm)].map(([, address]) => address).filter((one) => one !== '{');
    expect(asked).toEqual(replicas.map(({ networks }) => `${networks?.default.ipv4_address}:8080`));
    const { scrape_configs } = await readYaml<{
      readonly scrape_configs: readonly {
        readonly static_configs: readonly { readonly targets: readonly string[] }[];
      }[];
    }>('deploy/prometheus/prometheus.yaml');
    const targets = scrape_configs.flatMap(({ static_configs }) => static_configs.flatMap((one) => one.targets));
    expect(targets).toEqual(
      ['antiphon-1', 'antiphon-2'].map((name) => `${name}:${replicas[0]?.environment?.['METRICS_PORT']}`),
    );
  });

  it('the replicas in compose.yaml trust nginx to name the address of a client', () => {
    const { ipv4_address: nginx } = services['nginx']?.networks?.default ?? {};
    for (const { environment = {} } of replicas) expect(environment['TRUSTED_PROXIES']?.split(',')).toContain(nginx);
  });

  it('the replicas in compose.yaml get every secret from the file that the example shows', async () => {
    const wanted = [...(await readShipped('compose.yaml')).matchAll(/\$\{([A-Z_]+)/g)].map(([, name]) => name);
    const shown = [...(await readShipped('deploy/compose.env.example')).matchAll(/^([A-Z_]+)=$/gm)];
    expect(new Set(wanted)).toEqual(new Set(shown.map(([, name]) => name)));
    expect(await readShipped('.gitignore')).toContain('deploy/compose.env\n');
  });
});
