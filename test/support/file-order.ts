import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The files that take minutes, longest first. Three files run at a time, and the next
 * one begins when one of them has ended: the run is as long as it must be when
 * nothing long is left to the end.
 */
export const LONG_FILES: readonly string[] = [
  // One cluster and all that needs it, one after the other: about as long as everything else together.
  'test/e2e/three-and-one.test.ts',
  // Six reboots of three control planes, begun again after each kill.
  'test/e2e/rotate-etcd-kills.test.ts',
  // No processor time, but minutes in which nothing may happen: best beside the clusters that come up.
  'test/conformance/talos/lab-three-control-planes.test.ts',
  'test/conformance/talos/lab-one-control-plane.test.ts',
  // Three reboots, and waits in which nothing may happen.
  'test/conformance/talos/one-control-plane.test.ts',
  'test/e2e/rotate-legacy.test.ts',
  'test/conformance/talos/legacy-shape.test.ts',
  'test/conformance/talos/legacy-shape.test.ts',
  'test/talos/lifecycle.test.ts',
  'test/integration/talos-client-limits.test.ts',
];

/** Where a file stands in the order: the lower, the earlier; files that are not named come after those that are. */
export function placeOf(path: string): number {
  const index = LONG_FILES.findIndex((name) => path === name || path.endsWith(`/${name}`));
  return index < 0 ? LONG_FILES.length : index;
}

/** Starts the files of each project in the order of `LONG_FILES`, and the others in the order that Vitest chooses. */
export class FileOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const groupOf = ({ project }: TestSpecification) => project.config.sequence.groupOrder;
    const chosen = await super.sort(files);
    return chosen.toSorted((a, b) => groupOf(a) - groupOf(b) || placeOf(a.moduleId) - placeOf(b.moduleId));
  }
}
