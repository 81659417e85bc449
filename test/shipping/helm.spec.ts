import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import { parseAllDocuments } from 'yaml';

import { itWith } from '../support/tests-with-programs.js';
import { longestShutdown, PROJECT, readShipped, readYaml, unknownVariables } from '../support/shipped-files.js';

const CHART = 'deploy/helm/antiphon';
const BASE = 'deploy/kubernetes/base';

interface Values {
  readonly variables: Readonly<Record<string, string>>;
  readonly terminationGracePeriodSeconds: number;
  readonly [name: string]: unknown;
}

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: unknown;
}

interface Model {
  validate(): void;
}

const values = await readYaml<Values>(`${CHART}/values.yaml`);
const templates = (await readdir(join(PROJECT, CHART, 'templates'))).toSorted();
const texts = await Promise.all(templates.map((name) => readShipped(`${CHART}/templates/${name}`)));

/** The paths that a text reads of the values, such as `image.tag`. */
function pathsIn(text: string): readonly string[] {
  return [...text.matchAll(/\.Values\.([\w.]+)/g)].map(([, path = '']) => path);
}

function valueAt(path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => Reflect.get(Object(value) as object, name), values);
}

// Without Helm nothing is rendered: that the templates give YAML, and that what they give is valid, is not checked then.
describe('the chart', () => {
  it('the chart has values that fit its schema, which refuses others', async () => {
    const isValid = new Ajv().compile(JSON.parse(await readShipped(`${CHART}/values.schema.json`)) as object);
    expect({ isValid: isValid(values), errors: isValid.errors }).toEqual({ isValid: true, errors: null });
    for (const wrong of [{ replica: 3 }, { variables: { ...values.variables, STATE: 'sqlite' } }, { replicas: '2' }]) {
      expect({ wrong, isValid: isValid({ ...values, ...wrong }) }).toEqual({ wrong, isValid: false });
    }
  });

  it('the chart reads values that there are, and has none that nothing reads', () => {
    const read = new Set(texts.flatMap(pathsIn));
    expect([...read].filter((path) => valueAt(path) === undefined)).toEqual([]);
    expect(Object.keys(values).filter((name) => ![...read].some((path) => path.split('.')[0] === name))).toEqual([]);
  });

  it('the chart closes what its templates open', () => {
    for (const [index, text] of texts.entries()) {
      const opened = text.match(/\{\{-? (?:if|with|range|define) /g)?.length ?? 0;
      const closed = text.match(/\{\{-? end \}\}/g)?.length ?? 0;
      expect({ name: templates[index], opened }).toEqual({ name: templates[index], opened: closed });
    }
  });

  it('the chart has the version of the package', async () => {
    const { version } = JSON.parse(await readShipped('package.json')) as { readonly version: string };
    expect(await readYaml(`${CHART}/Chart.yaml`)).toMatchObject({ version, appVersion: version });
  });

  it('the chart gives pods variables of the service only, and more time to stop than a shutdown takes', () => {
    expect(unknownVariables(Object.keys(values.variables))).toEqual([]);
    expect(values.terminationGracePeriodSeconds * 1000).toBeGreaterThan(longestShutdown(values.variables));
  });
});

describe('what Helm renders', () => {
  /** The manifests of a release with some values of its own. */
  async function render(helm: string, own: object = {}): Promise<readonly Manifest[]> {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-helm-'));
    try {
      const file = join(folder, 'values.json');
      await writeFile(file, JSON.stringify(own));
      const args = ['template', 'antiphon', join(PROJECT, CHART), '--kube-version', '1.34.0', '--values', file];
      const { stdout } = await promisify(execFile)(helm, args);
      return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  /** A manifest without what only the chart adds: its labels, the checksum of the variables, and the defaults of Kubernetes. */
  function withoutMarks(manifest: Manifest): unknown {
    const marks =
      /^(?:app\.kubernetes\.io\/(?:instance|version|managed-by)|helm\.sh\/chart|checksum\/variables|imagePullPolicy)$/;
    const json = JSON.stringify({ ...manifest, metadata: { name: manifest.metadata.name } }, (key, value: unknown) =>
      marks.test(key) ? undefined : value,
    );
    return JSON.parse(json.replace('"annotations":{},', '').replace(',"annotations":{}', ''));
  }

  itWith('helm', 'the chart is what the base for Kustomize has', async (helm) => {
    const files = (await readdir(join(PROJECT, BASE))).filter(
      (name) => !/^(?:kustomization|secret\.example)/.test(name),
    );
    const base = await Promise.all(files.map((name) => readYaml<Manifest>(`${BASE}/${name}`)));
    const rendered = (await render(helm)).map(withoutMarks);
    expect(rendered).toHaveLength(base.length);
    expect(rendered).toEqual(expect.arrayContaining(base));
  });

  itWith('helm', 'the chart is valid, also with everything that is off by default', async (helm) => {
    const manifests = await render(helm, {
      files: 'antiphon-files',
      autoscaling: { enabled: false },
      networkPolicy: { egress: [{ to: [{ podSelector: {} }], ports: [{ protocol: 'TCP', port: 8000 }] }] },
      podMonitor: { enabled: true },
    });
    expect(manifests.map(({ kind }) => kind)).toContain('PodMonitor');
    for (const manifest of manifests.filter(({ kind }) => kind !== 'PodMonitor')) {
      const models = (await import(`kubernetes-models/${manifest.apiVersion}`)) as Readonly<
        Record<string, new (manifest: Manifest) => Model>
      >;
      const Model = models[manifest.kind];
      if (Model === undefined) throw new Error(`there is no ${manifest.kind} in ${manifest.apiVersion}`);
      expect(() => new Model(manifest).validate()).not.toThrow();
    }
    expect(manifests.find(({ kind }) => kind === 'Deployment')).toMatchObject({
      spec: {
        replicas: 2,
        template: { spec: { volumes: [{ name: 'tmp' }, { secret: { secretName: 'antiphon-files' } }] } },
      },
    });
  });
});
