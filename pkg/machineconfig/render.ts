import { type Access, accessOf } from './access.ts';
import { MachineConfigError } from './error.ts';
import type { Change, RenderStage } from './model.ts';
import { isAppendedDocument } from './new-document.ts';
import { refuseProblems, refuseUnknownKinds } from './problems.ts';
import { inRenderingOrder, rendererOf } from './targets/index.ts';
import { parseTalosVersion } from './version.ts';
import { applyEdits, type Edit } from './yaml/edits.ts';

/** What a rendering depends on besides the configuration and the changes. */
export interface RenderOptions {
  /** The version that the machine runs, such as `v1.14.1`: it decides which documents it knows. */
  readonly talosVersion: string;
  /** The machine or file, for errors. */
  readonly where?: string;
}

/**
 * Renders a parsed configuration; the contract is that of `renderStage`.
 *
 * @throws {MachineConfigError} as `renderStage` does.
 */
export function render(access: Access, changes: readonly Change[], stage: RenderStage, options: RenderOptions): string {
  const { text, eol, where, documents, legacy } = access.config;
  const edits = editsFor(access, changes, stage, options);
  // A literal block at the end of a file ends in a newline only if the file does, and a document
  // begins on a line of its own: then the file gets its last newline before anything is written there.
  const isTypedLast = documents.at(-1) !== legacy;
  const needsNewline =
    !text.endsWith('\n') &&
    edits.length > 0 &&
    (isTypedLast || edits.some((edit) => isAppendedDocument(edit, text.length)));
  if (needsNewline) return render(accessOf(text + eol, where, access.known), changes, stage, options);
  const rendered = applyEdits(text, edits);
  if (rendered === text) return text;
  prove(accessOf(rendered, where, access.known), changes, stage);
  return rendered;
}

function editsFor(access: Access, changes: readonly Change[], stage: RenderStage, options: RenderOptions): Edit[] {
  const { where } = access.config;
  const version = parseTalosVersion(options.talosVersion, where);
  refuseUnknownKinds(access, version);
  refuseProblems(access);
  return inRenderingOrder(access, changes).flatMap((change) => {
    const renderer = rendererOf(change);
    const standing = renderer.stand(access, change);
    if (standing.stage === 'NotConcerned') return [];
    if (standing.stage === 'Foreign') {
      const message = `the ${change.target} material is not this rotation's: ${standing.reason}`;
      throw new MachineConfigError('foreign-edit', message, { where });
    }
    return renderer.render(access, change, { stage, version });
  });
}

/** A splice gone wrong must never reach a machine: what was written is read back. */
function prove(written: Access, changes: readonly Change[], stage: RenderStage): void {
  refuseProblems(written);
  for (const change of changes) {
    const { stage: reached } = rendererOf(change).stand(written, change);
    if (reached !== stage && reached !== 'NotConcerned') {
      throw new Error(`rendering ${change.target} for ${stage} gave ${reached}; this is a fault in Ichor`);
    }
  }
}
