import type { Json } from './api.ts';
import { TEXTS } from './texts.ts';

/** Sizes of the picture, px. */
const NODE = { width: 176, height: 44 };
const STEP = { across: 216, down: 56 };
const MARGIN = 12;
/** Characters that a node has room for. */
const LONGEST = 22;

/** A response in its place. */
interface Placed {
  readonly node: Json;
  readonly x: number;
  readonly y: number;
  readonly parent: Placed | undefined;
}

interface TreeProperties {
  /** As `GET /responses/{id}/tree` gives it. */
  readonly root: Json;
  /** The id of the response that is looked at. */
  readonly current: string;
  readonly toAddress: (id: string) => string;
}

/** The responses of a conversation as a picture: each is a link, and what continues it stands to its right. */
export function Tree({ root, current, toAddress }: TreeProperties) {
  const placed = place(root);
  const width = Math.max(...placed.map(({ x }) => x)) + NODE.width + MARGIN;
  const height = Math.max(...placed.map(({ y }) => y)) + NODE.height + MARGIN;
  const hasMore = placed.some(({ node }) => node.children.has_more);
  return (
    <>
      <div class="tree" role="group" aria-label={TEXTS.tree}>
        <svg width={width} height={height}>
          {placed.map((one) => one.parent !== undefined && <path key={one.node.id} d={toCurve(one.parent, one)} />)}
          {placed.map(({ node, x, y }) => (
            <a key={node.id} href={toAddress(node.id)} aria-current={node.id === current ? 'true' : undefined}>
              <rect x={x} y={y} width={NODE.width} height={NODE.height} rx={6} />
              <text x={x + 10} y={y + 18}>
                {shorten(textOf(node))}
              </text>
              <text class="detail" x={x + 10} y={y + 35}>
                {shorten(`${node.response.model}, ${node.response.status}`)}
              </text>
            </a>
          ))}
        </svg>
      </div>
      {hasMore && <p class="hint">{TEXTS.treeIsCut}</p>}
    </>
  );
}

/** Places each response right of what it continues, and beside its first child. */
function place(root: Json): readonly Placed[] {
  const placed: Placed[] = [];
  let row = 0;
  const walk = (node: Json, depth: number, parent: Placed | undefined): void => {
    const one = { node, x: MARGIN + depth * STEP.across, y: MARGIN + row * STEP.down, parent };
    placed.push(one);
    for (const [index, child] of node.children.data.entries()) {
      if (index > 0) row += 1;
      walk(child, depth + 1, one);
    }
  };
  walk(root, 0, undefined);
  return placed;
}

function toCurve(from: Placed, to: Placed): string {
  const [startX, startY] = [from.x + NODE.width, from.y + NODE.height / 2];
  const [endX, endY] = [to.x, to.y + NODE.height / 2];
  const middle = (startX + endX) / 2;
  return `M${startX} ${startY}C${middle} ${startY} ${middle} ${endY} ${endX} ${endY}`;
}

/** What a response says, or what it does instead. */
function textOf({ id, response }: Json): string {
  const call = response.output.find(({ name }: Json) => name !== undefined);
  return response.output_text || (call === undefined ? id : TEXTS.call(call.name, call.server_label));
}

function shorten(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}
