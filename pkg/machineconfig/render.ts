import { type Access, accessOf } from './access.ts';
import { MachineConfigError } from './error.ts';
import type { Change, RenderStage } from './model.ts';
import { refuseProblems, refuseUnknownKinds } from './problems.ts';
import { inRenderingOrder, rendererOf } from './targets/index.ts';
import { parseTalosVersion } from './version.ts';
import { applyEdits } from './yaml/edits.ts';

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
  const { text } = access.config;
  const whole = terminated(access);
  const rendered = edited(whole, changes, stage, options);
  if (rendered === whole.config.text) return text;
  prove(rendered, changes, stage, options.where);
  return rendered;
}

/**
 * A literal block at the very end of a file needs the file's last newline to end
 * in one itself, so a last typed document gets it before anything is written there.
 */
function terminated(access: Access): Access {
  const { text, eol, where, documents, legacy } = access.config;
  if (text.endsWith('\n') || documents.at(-1) === legacy) return access;
  return accessOf(text + eol, where);
}

function edited(access: Access, changes: readonly Change[], stage: RenderStage, options: RenderOptions): string {
  const version = parseTalosVersion(options.talosVersion);
  const { where, text } = access.config;
  refuseUnknownKinds(access, version);
  refuseProblems(access);
  const edits = inRenderingOrder(access, changes).flatMap((change) => {
    const renderer = rendererOf(change);
    const standing = renderer.stand(access, change);
    if (standing.stage === 'NotConcerned') return [];
    if (standing.stage === 'Foreign') {
      const message = `the ${change.target} material is not this rotation's: ${standing.reason}`;
      throw new MachineConfigError('foreign-edit', message, { where });
    }
    return renderer.render(access, change, { stage, version });
  });
  return edits.length === 0 ? text : applyEdits(text, edits);
}

/** A splice gone wrong must never reach a machine: what was written is read back. */
function prove(rendered: string, changes: readonly Change[], stage: RenderStage, where: string | undefined): void {
  const written = accessOf(rendered, where);
  refuseProblems(written);
  for (const change of changes) {
    const { stage: reached } = rendererOf(change).stand(written, change);
    if (reached !== stage && reached !== 'NotConcerned') {
      throw new Error(`rendering ${change.target} for ${stage} gave ${reached}; this is a fault in Ichor`);
    }
  }
}
