import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import { beforeAll, describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { longestShutdown, PROJECT, readYaml, unknownVariables } from '../support/shipped-files.js';

const FOLDER = 'deploy/kubernetes';

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

interface Kustomization {
  readonly resources?: readonly string[];
  readonly components?: readonly string[];
  readonly patches?: readonly { readonly path: string }[];
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface Container {
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly envFrom: readonly unknown[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
}

interface Deployment extends Manifest {
  readonly spec: {
    readonly template: {
      readonly spec: { readonly terminationGracePeriodSeconds: number; readonly containers: readonly [Container] };
    };
  };
}

interface Model {
  validate(): void;
}

const files = (await readdir(join(PROJECT, FOLDER), { recursive: true }))
  .filter((path) => path.endsWith('.yaml'))
  .map((path) => `${FOLDER}/${path}`);
const kustomizations = files.filter((path) => basename(path) === 'kustomization.yaml');
const manifests = files.filter((path) => !kustomizations.includes(path));
/** Of an operator, so without a model here. */
const FOREIGN = `${FOLDER}/components/prometheus-operator/pod-monitor.yaml`;
/** A patch has only what it changes. */
const PARTIAL = [`${FOLDER}/overlays/example/autoscaler.yaml`];

describe('a manifest', () => {
  it.each(manifests.filter((path) => path !== FOREIGN && !PARTIAL.includes(path)))(
    'the manifest %s is valid',
    async (path) => {
      const manifest = await readYaml<Manifest>(path);
      const models = (await import(`kubernetes-models/${manifest.apiVersion}`)) as Readonly<
        Record<string, new (manifest: Manifest) => Model>
      >;
      const Model = models[manifest.kind];
      if (Model === undefined) throw new Error(`there is no ${manifest.kind} in ${manifest.apiVersion}`);
      expect(() => new Model(manifest).validate()).not.toThrow();
      expect(manifest.metadata.name).toBe('antiphon');
    },
  );

  it('a manifest is invalid with a wrong type', async () => {
    const manifest = await readYaml<Deployment>(`${FOLDER}/base/deployment.yaml`);
    const models = await import('kubernetes-models/apps/v1');
    const wrong = { ...manifest, spec: { ...manifest.spec, minReadySeconds: 'soon' } };
    expect(() => new models.Deployment(wrong as never).validate()).toThrow(/minReadySeconds/);
  });
});

describe('a kustomization', () => {
  it.each(kustomizations)('the kustomization %s names files that exist', async (path) => {
    const { resources = [], components = [], patches = [] } = await readYaml<Kustomization>(path);
    const named = [...resources, ...components, ...patches.map((patch) => patch.path)];
    expect(named).not.toEqual([]);
    for (const name of named) {
      const at = join(dirname(path), name);
      const file = at.endsWith('.yaml') ? at : join(at, 'kustomization.yaml');
      expect({ file, exists: existsSync(join(PROJECT, file)) }).toEqual({ file, exists: true });
    }
  });

  it('a kustomization has every manifest of its folder, but for the example of a secret', async () => {
    for (const path of kustomizations) {
      const { resources = [], patches = [] } = await readYaml<Kustomization>(path);
      const named = [...resources, ...patches.map((patch) => patch.path)];
      const there = manifests.filter((file) => dirname(file) === dirname(path)).map((file) => basename(file));
      expect(named).toEqual(expect.arrayContaining(there.filter((file) => file !== 'secret.example.yaml')));
    }
  });
});

describe('the pods', () => {
  const service = useService({});
  let deployment: Deployment;
  let variables: Readonly<Record<string, string>>;

  beforeAll(async () => {
    deployment = await readYaml<Deployment>(`${FOLDER}/base/deployment.yaml`);
    variables = (await readYaml<{ readonly data: Readonly<Record<string, string>> }>(`${FOLDER}/base/config-map.yaml`))
      .data;
  });

  it('the pods are asked at routes of the service', async () => {
    const [{ startupProbe, livenessProbe, readinessProbe, ports }] = deployment.spec.template.spec.containers;
    expect(readinessProbe.httpGet.path).toBe('/readyz');
    expect(livenessProbe.httpGet.path).not.toBe('/readyz');
    for (const { httpGet } of [startupProbe, livenessProbe, readinessProbe]) {
      expect(ports.map(({ name }) => name)).toContain(httpGet.port);
      expect((await fetch(`${service.origin}${httpGet.path}`)).status).toBe(200);
    }
  });

  it('the pods get variables of the service only', async () => {
    const { stringData } = await readYaml<{ readonly stringData: object }>(`${FOLDER}/base/secret.example.yaml`);
    const { data } = await readYaml<{ readonly data: object }>(`${FOLDER}/overlays/example/config-map.yaml`);
    const names = [variables, stringData, data].flatMap((one) => Object.keys(one));
    expect(unknownVariables(names)).toEqual([]);
  });

  it('the pods have more time to stop than a shutdown takes', () => {
    const { terminationGracePeriodSeconds } = deployment.spec.template.spec;
    expect(terminationGracePeriodSeconds * 1000).toBeGreaterThan(longestShutdown(variables));
  });

  it('the pods leave the endpoints of their Service before they refuse turns', () => {
    const { periodSeconds, failureThreshold } = deployment.spec.template.spec.containers[0]
      .readinessProbe as unknown as {
      readonly periodSeconds: number;
      readonly failureThreshold: number;
    };
    expect(Number(variables['SHUTDOWN_DELAY_MS'])).toBeGreaterThan(periodSeconds * failureThreshold * 1000);
  });

  it('the pods offer the ports that Service and PodMonitor name', async () => {
    const { ports } = deployment.spec.template.spec.containers[0];
    expect(ports).toEqual([
      { name: 'http', containerPort: 8080 },
      { name: 'metrics', containerPort: Number(variables['METRICS_PORT']) },
    ]);
    expect(await readYaml(`${FOLDER}/base/service.yaml`)).toMatchObject({ spec: { ports: [{ targetPort: 'http' }] } });
    expect(await readYaml(FOREIGN)).toMatchObject({ spec: { podMetricsEndpoints: [{ port: 'metrics' }] } });
  });
});
