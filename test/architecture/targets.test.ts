import { describe, expect, it } from 'vitest';
import { CA_TARGETS } from '../../api/v1alpha1/index.ts';
import { readSources, type Source, withoutComments } from './sources.ts';

/** Places outside `targets/` in which the engine asks which target it has. */
function targetNamesOutside(sources: readonly Source[]): string[] {
  const names = [...CA_TARGETS, 'etcd-encryption', 'service-account'];
  return sources
    .filter((source) => !source.path.startsWith('internal/rotation/targets/') && !source.path.endsWith('.test.ts'))
    .flatMap((source) =>
      names
        .filter((name) => withoutComments(source.text).includes(`'${name}'`))
        .map((name) => `${source.path}: names the target ${name}; make it a property of the descriptor`),
    );
}

describe('targets are data', () => {
  it('nothing in the engine outside targets/ asks which target it has', () => {
    expect(targetNamesOutside(readSources(['internal/rotation']))).toEqual([]);
  });

  it('finds a comparison with a target name', () => {
    const found = targetNamesOutside([
      { path: 'internal/rotation/pass.ts', text: "if (target.name === 'etcd') return;" },
    ]);

    expect(found).toEqual(['internal/rotation/pass.ts: names the target etcd; make it a property of the descriptor']);
  });
});
