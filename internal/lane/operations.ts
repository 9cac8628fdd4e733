import type { Checks } from './checks.ts';
import { lastLine } from './ichor.ts';
import type { LaneContext } from './model.ts';

/** Notes which operations have not ended; one that has ended names every phase in its history. */
export async function checkNoneUnderWay({ ichor }: Pick<LaneContext, 'ichor'>, checks: Checks): Promise<void> {
  const { code, output } = await ichor.run(['operation', 'list', '-o', 'json']);
  const left = code === 0 ? underWay(output) : [lastLine(output)];
  checks.that('no operation is left', left.length === 0, left.join(', ') || 'every one has ended');
}

/** Their names; what was printed if that is no list. */
function underWay(output: string): string[] {
  try {
    const { items } = JSON.parse(output) as {
      readonly items: readonly { readonly metadata: { name: string }; readonly status?: { phase: string } }[];
    };
    return items.filter(({ status }) => status?.phase !== 'Completed').map(({ metadata }) => metadata.name);
  } catch {
    return [lastLine(output)];
  }
}
