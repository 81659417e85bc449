import { Injectable, Module } from '@nestjs/common';
import { ServerTool, type ServerToolContext, ServerToolError } from 'antiphon';
import { z } from 'zod';

const Article = z.object({ sku: z.string().describe('The number of the article.') });
const Order = Article.extend({ pieces: z.int().min(1).max(10) });

/** Looks into the warehouse, and orders there with the consent of the user. */
@Injectable()
export class StockTools {
  private readonly pieces = new Map([
    ['A-1', 3],
    ['B-2', 12],
  ]);

  @ServerTool({
    name: 'look_up',
    description: 'How many pieces of an article are in stock.',
    server: 'stock',
    input: Article,
    annotations: { readOnlyHint: true },
  })
  lookUp({ sku }: z.infer<typeof Article>): string {
    return `${this.left(sku)} pieces`;
  }

  @ServerTool({
    name: 'order',
    description: 'Orders pieces of an article.',
    server: 'stock',
    input: Order,
    requireApproval: true,
  })
  order({ sku, pieces }: z.infer<typeof Order>, { tenant }: ServerToolContext): string {
    const left = this.left(sku) - pieces;
    if (left < 0) throw new ServerToolError('There are not that many.');
    this.pieces.set(sku, left);
    return `Ordered for ${tenant}.`;
  }

  private left(sku: string): number {
    const left = this.pieces.get(sku);
    if (left === undefined) throw new ServerToolError(`There is no article ${sku}.`);
    return left;
  }
}

@Module({ providers: [StockTools] })
export class StockModule {}
