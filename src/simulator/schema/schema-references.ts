import type { SchemaObject } from './schema-parts.js';
import { DeadEnd, isSchemaObject } from './schema-parts.js';

/** Keywords that hold schemas by names, and names are no keywords. */
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies']);
/** Keywords that hold values, which may look like schemas. */
const DATA = new Set(['const', 'enum', 'default', 'examples']);
/** Where a document is that does not say so itself. */
const NOWHERE = 'schema:///';

/** A schema with an address of its own; the whole document is the first. */
interface Resource {
  readonly address: string;
  readonly root: unknown;
  readonly anchors: Map<string, SchemaObject>;
}

/**
 * Knows where the references of one schema document lead: by a JSON pointer, by `$anchor`, and by the `$id` of the
 * document or of a schema in it. Nothing is ever fetched.
 */
export class SchemaReferences {
  private readonly resources = new Map<string, Resource>();
  private readonly homes = new Map<SchemaObject, Resource>();
  private readonly document: Resource;

  constructor(root: unknown) {
    this.document = { address: NOWHERE, root, anchors: new Map() };
    const places: (readonly [place: unknown, around: Resource])[] = [[root, this.document]];
    for (const [place, around] of places) {
      if (!isSchemaObject(place) || this.homes.has(place)) continue;
      const home = this.enter(place, around);
      for (const inner of listInnerSchemas(place)) places.push([inner, home]);
    }
  }

  /** What a reference means in the schema it is written in. */
  resolve(reference: string, from: unknown): unknown {
    const home = this.homeOf(from) ?? this.homeOf(this.document.root) ?? this.document;
    const [address = '', ...rest] = reference.split('#');
    const resource = address === '' ? home : this.resources.get(joinAddress(address, home.address) ?? '');
    if (resource === undefined) throw new DeadEnd(`The reference '${reference}' leads out of the schema.`);
    const fragment = decodeFragment(rest.join('#'));
    const found = /^(\/|$)/.test(fragment) ? followPointer(fragment, resource.root) : resource.anchors.get(fragment);
    if (found === undefined) throw new DeadEnd(`The reference '${reference}' leads nowhere.`);
    return found;
  }

  private homeOf(place: unknown): Resource | undefined {
    return isSchemaObject(place) ? this.homes.get(place) : undefined;
  }

  private enter(place: SchemaObject, around: Resource): Resource {
    const { $id, $anchor, $dynamicAnchor } = place;
    // Anchors were ids in draft 7.
    const isAnchor = typeof $id === 'string' && $id.startsWith('#');
    const address = typeof $id === 'string' && !isAnchor ? joinAddress($id, around.address) : undefined;
    const home = address === undefined ? around : { address, root: place, anchors: new Map<string, SchemaObject>() };
    if (address !== undefined) this.resources.set(address, home);
    for (const name of [$anchor, $dynamicAnchor, isAnchor && $id.slice(1)]) {
      if (typeof name === 'string') home.anchors.set(name, place);
    }
    this.homes.set(place, home);
    return home;
  }
}

function listInnerSchemas(schema: SchemaObject): readonly unknown[] {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    if (DATA.has(keyword)) return [];
    if (MAPS.has(keyword)) return isSchemaObject(value) ? Object.values(value) : [];
    return Array.isArray(value) ? (value as unknown[]) : [value];
  });
}

function joinAddress(address: string, base: string): string | undefined {
  return URL.parse(address, base)?.href.replace(/#.*$/, '');
}

function decodeFragment(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    // Not an encoded one then.
    return fragment;
  }
}

/** RFC 6901. */
function followPointer(pointer: string, root: unknown): unknown {
  let place = root;
  for (const encoded of pointer.split('/').slice(1)) {
    const segment = encoded.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof place !== 'object' || place === null || !Object.hasOwn(place, segment)) return undefined;
    place = (place as SchemaObject)[segment];
  }
  return place;
}
