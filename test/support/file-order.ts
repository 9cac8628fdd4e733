import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The files that take minutes, in the order in which they start; two run at a time.
 * A cluster of three control planes that is being rotated takes more than one of two
 * processors, and one more beside it would starve both: beside the long file stands
 * what mostly waits.
 */
export const LONG_FILES: readonly string[] = [
  // One cluster and all that needs it, one after the other: about as long as everything else together.
  'test/e2e/three-and-one.test.ts',
  // One control plane, and waits in which nothing may happen.
  'test/conformance/talos/one-control-plane.test.ts',
  // No processor time to speak of.
  'test/conformance/talos/lab-three-control-planes.test.ts',
  'test/conformance/talos/lab-one-control-plane.test.ts',
  'test/conformance/talos/legacy-shape.test.ts',
  'test/e2e/rotate-legacy.test.ts',
  // Three control planes again, so not before the first file is done: it waits for that (`lockThreeControlPlanes`).
  'test/e2e/rotate-etcd-kills.test.ts',
  'test/talos/lifecycle.test.ts',
  'test/integration/talos-client-limits.test.ts',
];

/** Where a file stands in the order: the lower, the earlier; files that are not named come after those that are. */
export function placeOf(path: string): number {
  const isNamed = (name: string) => path === name || path.endsWith(`/${name}`);
  const index = LONG_FILES.findIndex(isNamed);
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
